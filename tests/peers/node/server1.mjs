// A server on the first TypeScript SDK with all that the conformance suite wants to find: node server1.mjs stdio|http|json|sse
//
// http: Streamable HTTP with sessions and streams that can be resumed; json: without sessions, answers in JSON; sse: the
// older transport. It listens on a port that the system chooses. On stdio lists come in pages of two.
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { InMemoryEventStore } from '@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js';
import * as T from '@modelcontextprotocol/sdk/types.js';
import { createServer } from 'node:http';
import { randomUUID } from 'node:crypto';
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';
const text = (t) => ({ content: [{ type: 'text', text: t }] });
const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
const empty = { type: 'object', properties: {} };
const tools = {
  test_simple_text: [empty, async () => text('This is a simple text response for testing.')],
  test_image_content: [empty, async () => ({ content: [{ type: 'image', data: PNG, mimeType: 'image/png' }] })],
  test_audio_content: [empty, async () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] })],
  test_embedded_resource: [
    empty,
    async () => ({
      content: [
        {
          type: 'resource',
          resource: {
            uri: 'test://embedded-resource',
            mimeType: 'text/plain',
            text: 'This is an embedded resource content.',
          },
        },
      ],
    }),
  ],
  test_multiple_content_types: [
    empty,
    async () => ({
      content: [
        { type: 'text', text: 'Multiple content types test:' },
        { type: 'image', data: PNG, mimeType: 'image/png' },
        {
          type: 'resource',
          resource: {
            uri: 'test://mixed-content-resource',
            mimeType: 'application/json',
            text: '{"test":"data","value":123}',
          },
        },
      ],
    }),
  ],
  test_tool_with_logging: [
    empty,
    async (a, x) => {
      for (const m of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        await x.sendNotification({ method: 'notifications/message', params: { level: 'info', data: m } });
        await sleep(50);
      }
      return text('logged');
    },
  ],
  test_error_handling: [
    empty,
    async () => ({ isError: true, ...text('This tool intentionally returns an error for testing') }),
  ],
  test_tool_with_progress: [
    empty,
    async (a, x) => {
      const t = x._meta?.progressToken;
      for (const p of [0, 50, 100]) {
        if (t !== undefined)
          await x.sendNotification({
            method: 'notifications/progress',
            params: { progressToken: t, progress: p, total: 100 },
          });
        await sleep(50);
      }
      return text('done');
    },
  ],
  test_sampling: [
    { type: 'object', properties: { prompt: { type: 'string' } }, required: ['prompt'] },
    async (a, x) => {
      const r = await x.sendRequest(
        {
          method: 'sampling/createMessage',
          params: { messages: [{ role: 'user', content: { type: 'text', text: a.prompt } }], maxTokens: 100 },
        },
        T.CreateMessageResultSchema,
      );
      return text('LLM response: ' + r.content.text);
    },
  ],
  test_elicitation: [
    { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
    async (a, x) => {
      const r = await x.sendRequest(
        {
          method: 'elicitation/create',
          params: {
            message: a.message,
            requestedSchema: {
              type: 'object',
              properties: {
                username: { type: 'string', description: "User's response" },
                email: { type: 'string', description: "User's email address" },
              },
              required: ['username', 'email'],
            },
          },
        },
        T.ElicitResultSchema,
      );
      return text(`User response: action: ${r.action}, content: ${JSON.stringify(r.content)}`);
    },
  ],
  json_schema_2020_12_tool: [
    {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: { address: { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } } },
      properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
      additionalProperties: false,
    },
    async () => text('ok'),
  ],
  test_elicitation_sep1034_defaults: [
    empty,
    async (a, x) => {
      const r = await x.sendRequest(
        {
          method: 'elicitation/create',
          params: {
            message: 'defaults',
            requestedSchema: {
              type: 'object',
              properties: {
                name: { type: 'string', default: 'John Doe' },
                age: { type: 'integer', default: 30 },
                score: { type: 'number', default: 95.5 },
                status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
                verified: { type: 'boolean', default: true },
              },
              required: [],
            },
          },
        },
        T.ElicitResultSchema,
      );
      return text(`Elicitation completed: action=${r.action}, content=${JSON.stringify(r.content)}`);
    },
  ],
  test_elicitation_sep1330_enums: [
    empty,
    async (a, x) => {
      const v = [
        ['value1', 'First Option'],
        ['value2', 'Second Option'],
        ['value3', 'Third Option'],
      ].map(([c, t]) => ({ const: c, title: t }));
      const o = ['option1', 'option2', 'option3'];
      const r = await x.sendRequest(
        {
          method: 'elicitation/create',
          params: {
            message: 'enums',
            requestedSchema: {
              type: 'object',
              properties: {
                untitledSingle: { type: 'string', enum: o },
                titledSingle: { type: 'string', oneOf: v },
                legacyEnum: {
                  type: 'string',
                  enum: ['opt1', 'opt2', 'opt3'],
                  enumNames: ['Option One', 'Option Two', 'Option Three'],
                },
                untitledMulti: { type: 'array', items: { type: 'string', enum: o } },
                titledMulti: { type: 'array', items: { anyOf: v } },
              },
              required: [],
            },
          },
        },
        T.ElicitResultSchema,
      );
      return text(`Elicitation completed: action=${r.action}, content=${JSON.stringify(r.content)}`);
    },
  ],
  test_reconnection: [
    empty,
    async (a, x) => {
      x.closeSSEStream?.();
      await sleep(100);
      return text('Reconnection test completed successfully');
    },
  ],
};
// A part of a list, where lists come in pages: the suite that drives the others reads first pages only.
const page = (name, all, cursor) => {
  if (process.argv[2] !== 'stdio') return { [name]: all };
  const start = cursor ? Number(cursor.replace('from-', '')) : 0;
  return { [name]: all.slice(start, start + 2), ...(start + 2 < all.length && { nextCursor: `from-${start + 2}` }) };
};
const res = {
  'test://static-text': { mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  'test://static-binary': { mimeType: 'image/png', blob: PNG },
  'test://watched-resource': { mimeType: 'text/plain', text: 'watched' },
};
const U = (...c) => ({ messages: c.map((x) => ({ role: 'user', content: x })) });
const prompts = {
  test_simple_prompt: [[], () => U({ type: 'text', text: 'This is a simple prompt for testing.' })],
  test_prompt_with_arguments: [
    [
      { name: 'arg1', required: true },
      { name: 'arg2', required: true },
    ],
    (a) => U({ type: 'text', text: `Prompt with arguments: arg1='${a.arg1}', arg2='${a.arg2}'` }),
  ],
  test_prompt_with_embedded_resource: [
    [{ name: 'resourceUri', required: true }],
    (a) =>
      U(
        {
          type: 'resource',
          resource: { uri: a.resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
        },
        { type: 'text', text: 'Please process the embedded resource above.' },
      ),
  ],
  test_prompt_with_image: [
    [],
    () =>
      U({ type: 'image', data: PNG, mimeType: 'image/png' }, { type: 'text', text: 'Please analyze the image above.' }),
  ],
};
const make = () => {
  const s = new Server(
    { name: 'tap-test-server-1', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        prompts: { listChanged: true },
        logging: {},
        completions: {},
      },
    },
  );
  const h = (sc, f) => s.setRequestHandler(sc, f);
  // One that is there once it was asked for, and one that tells of a resource.
  const more = {
    test_add_tool: [
      empty,
      async (a, x) => {
        more.test_added_tool = [empty, async () => text('I am new')];
        await x.sendNotification({ method: 'notifications/tools/list_changed' });
        return text('added');
      },
    ],
    test_update_resource: [
      empty,
      async (a, x) => {
        await x.sendNotification({
          method: 'notifications/resources/updated',
          params: { uri: 'test://watched-resource' },
        });
        return text('updated');
      },
    ],
  };
  h(T.ListToolsRequestSchema, async () => ({
    tools: Object.entries({ ...tools, ...more }).map(([name, [inputSchema]]) => ({ name, description: name, inputSchema })),
  }));
  h(T.CallToolRequestSchema, async (r, x) => {
    const t = tools[r.params.name] ?? more[r.params.name];
    if (!t) throw new T.McpError(-32602, 'Unknown tool');
    return t[1](r.params.arguments ?? {}, x);
  });
  h(T.ListResourcesRequestSchema, async (r) => {
    const all = Object.entries(res).map(([uri, v]) => ({ uri, name: uri, mimeType: v.mimeType }));
    return page('resources', all, r.params?.cursor);
  });
  h(T.ListResourceTemplatesRequestSchema, async () => ({
    resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template' }],
  }));
  h(T.ReadResourceRequestSchema, async (r) => {
    const u = r.params.uri,
      m = /^test:\/\/template\/(\w+)\/data$/.exec(u);
    if (m)
      return {
        contents: [
          {
            uri: u,
            mimeType: 'application/json',
            text: JSON.stringify({ id: m[1], templateTest: true, data: `Data for ID: ${m[1]}` }),
          },
        ],
      };
    if (!res[u]) throw new T.McpError(-32002, 'Resource not found');
    return { contents: [{ uri: u, ...res[u] }] };
  });
  h(T.SubscribeRequestSchema, async () => ({}));
  h(T.UnsubscribeRequestSchema, async () => ({}));
  h(T.SetLevelRequestSchema, async () => ({}));
  h(T.ListPromptsRequestSchema, async (r) => {
    const all = Object.entries(prompts).map(([name, [args]]) => ({ name, description: name, arguments: args }));
    return page('prompts', all, r.params?.cursor);
  });
  h(T.GetPromptRequestSchema, async (r) => prompts[r.params.name][1](r.params.arguments ?? {}));
  h(T.CompleteRequestSchema, async () => ({
    completion: { values: ['paris', 'park', 'party'], total: 3, hasMore: false },
  }));
  return s;
};
const local = (value) => !value || /^(https?:\/\/)?(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(value);

const transports = new Map();

async function streamable(request, response) {
  const session = request.headers['mcp-session-id'];
  let transport = transports.get(session);
  if (session && !transport) {
    const error = { code: -32001, message: 'Session not found' };
    response
      .writeHead(404, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', error, id: null }));
    return;
  }
  if (!transport) {
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: new InMemoryEventStore(),
      retryInterval: 500,
      onsessioninitialized: (id) => transports.set(id, transport),
    });
    await make().connect(transport);
  }
  await transport.handleRequest(request, response);
}

async function json(request, response) {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
  await make().connect(transport);
  await transport.handleRequest(request, response);
}

async function sse(request, response) {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  if (request.method === 'GET' && pathname === '/sse') {
    const transport = new SSEServerTransport('/messages', response);
    transports.set(transport.sessionId, transport);
    await make().connect(transport);
    return;
  }
  const transport = transports.get(searchParams.get('sessionId'));
  if (transport) await transport.handlePostMessage(request, response);
  else response.writeHead(404).end();
}

if (process.argv[2] === 'stdio') {
  await make().connect(new StdioServerTransport());
} else {
  const handle = { http: streamable, json, sse }[process.argv[2]];
  createServer(async (request, response) => {
    if (local(request.headers.host) && local(request.headers.origin)) await handle(request, response);
    else response.writeHead(403).end('bad host');
  }).listen(0, '127.0.0.1');
}
