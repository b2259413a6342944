// A server on the second TypeScript SDK with all that the conformance suite wants to find, both eras: node server2.mjs [stdio]
//
// Without `stdio` it speaks Streamable HTTP, on a port that the system chooses.
import {
  Server,
  createMcpHandler,
  createRequestStateCodec,
  inputRequired,
  ProtocolError,
  MissingRequiredClientCapabilityError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { toNodeHandler, localhostHostValidation, localhostOriginValidation } from '@modelcontextprotocol/node';
import { createServer } from 'node:http';
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';
const text = (t) => ({ content: [{ type: 'text', text: t }] });
const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
const obj = (p = {}, required) => ({ type: 'object', properties: p, ...(required ? { required } : {}) });
const codec = createRequestStateCodec({ key: 'k'.repeat(32) });
const elicit = (message, p) => ({
  method: 'elicitation/create',
  params: { mode: 'form', message, requestedSchema: obj(p, Object.keys(p)) },
});
const sample = (t) => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text: t } }], maxTokens: 100 },
});
const roots = () => ({ method: 'roots/list', params: {} });
const need = (inputRequests, requestState) => ({
  resultType: 'input_required',
  inputRequests,
  ...(requestState ? { requestState } : {}),
});
const IR = (x) => x.mcpReq.inputResponses ?? {};
const tools = {
  test_simple_text: [obj(), async () => text('This is a simple text response for testing.')],
  test_image_content: [obj(), async () => ({ content: [{ type: 'image', data: PNG, mimeType: 'image/png' }] })],
  test_audio_content: [obj(), async () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] })],
  test_embedded_resource: [
    obj(),
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
    obj(),
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
  test_error_handling: [
    obj(),
    async () => ({ isError: true, ...text('This tool intentionally returns an error for testing') }),
  ],
  test_tool_with_progress: [
    obj(),
    async (a, x) => {
      const t = x.mcpReq._meta?.progressToken;
      for (const p of [0, 50, 100]) {
        if (t !== undefined)
          await x.mcpReq.notify({
            method: 'notifications/progress',
            params: { progressToken: t, progress: p, total: 100 },
          });
        await sleep(50);
      }
      return text('done');
    },
  ],
  json_schema_2020_12_tool: [
    {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: {
          $anchor: 'addressDef',
          type: 'object',
          properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
      },
      properties: {
        name: { type: 'string' },
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: { type: 'string' },
        email: { type: 'string' },
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    },
    async () => text('ok'),
  ],
  test_custom_header: [
    obj({ region: { type: 'string', 'x-mcp-header': 'Region' }, query: { type: 'string' } }, ['region']),
    async (a) => text(`region=${a.region}`),
  ],
  test_logging_tool: [
    obj(),
    async (a, x) => {
      await x.mcpReq.log?.('info', 'hello');
      return text('logged');
    },
  ],
  test_missing_capability: [
    obj(),
    async (a, x) => {
      const c = x.mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities'] ?? {};
      if (!c.sampling) throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } });
      return text('ok');
    },
  ],
  test_streaming_elicitation: [
    obj(),
    async (a, x) => (IR(x).q ? text('ok') : need({ q: elicit('go?', { ok: { type: 'boolean' } }) })),
  ],
  test_input_required_result_elicitation: [
    obj(),
    async (a, x) => {
      const r = IR(x).user_name;
      return r?.action === 'accept' && typeof r.content?.name === 'string'
        ? text(`Hello, ${r.content.name}!`)
        : need({ user_name: elicit('What is your name?', { name: { type: 'string' } }) });
    },
  ],
  test_input_required_result_sampling: [
    obj(),
    async (a, x) => {
      const r = IR(x).capital_question;
      return r
        ? text(String(r.content?.text ?? JSON.stringify(r.content)))
        : need({ capital_question: sample('What is the capital of France?') });
    },
  ],
  test_input_required_result_list_roots: [
    obj(),
    async (a, x) => {
      const r = IR(x).client_roots;
      return r ? text('roots: ' + JSON.stringify(r.roots)) : need({ client_roots: roots() });
    },
  ],
  test_input_required_result_request_state: [
    obj(),
    async (a, x) =>
      IR(x).confirm
        ? text('state-ok')
        : need({ confirm: elicit('Please confirm', { ok: { type: 'boolean' } }) }, await codec.mint({ s: 1 })),
  ],
  test_input_required_result_tampered_state: [
    obj(),
    async (a, x) =>
      IR(x).confirm
        ? text('ok')
        : need({ confirm: elicit('Please confirm', { ok: { type: 'boolean' } }) }, await codec.mint({ s: 1 })),
  ],
  test_input_required_result_multiple_inputs: [
    obj(),
    async (a, x) => {
      const r = IR(x);
      return r.user_name && r.greeting && r.client_roots
        ? text('all: ' + JSON.stringify(r))
        : need(
            {
              user_name: elicit('What is your name?', { name: { type: 'string' } }),
              greeting: sample('Generate a greeting'),
              client_roots: roots(),
            },
            await codec.mint({ s: 1 }),
          );
    },
  ],
  test_input_required_result_multi_round: [
    obj(),
    async (a, x) => {
      const r = IR(x);
      if (r.step2) return text('done');
      if (r.step1)
        return need(
          { step2: elicit('Step 2: What is your favorite color?', { color: { type: 'string' } }) },
          await codec.mint({ s: 2 }),
        );
      return need(
        { step1: elicit('Step 1: What is your name?', { name: { type: 'string' } }) },
        await codec.mint({ s: 1 }),
      );
    },
  ],
  test_input_required_result_capabilities: [
    obj(),
    async (a, x) => {
      const c = x.mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities'] ?? {};
      const q = {};
      if (c.elicitation) q.e = elicit('e', { ok: { type: 'boolean' } });
      if (c.sampling) q.s = sample('s');
      return Object.keys(IR(x)).length ? text('ok') : need(q, await codec.mint({ s: 1 }));
    },
  ],
};
const res = {
  'test://static-text': { mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  'test://static-binary': { mimeType: 'image/png', blob: PNG },
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
  test_input_required_result_prompt: [
    [],
    (a, x) =>
      IR(x).user_context
        ? U({ type: 'text', text: 'context: ' + JSON.stringify(IR(x).user_context) })
        : need({ user_context: elicit('What context should the prompt use?', { context: { type: 'string' } }) }),
  ],
};
const make = () => {
  const s = new Server(
    { name: 'tap-test-server-2', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        resources: { listChanged: true },
        prompts: { listChanged: true },
        completions: {},
        logging: {},
      },
      requestState: { verify: codec.verify },
    },
  );
  s.setRequestHandler('tools/list', async () => ({
    tools: Object.entries(tools).map(([name, [inputSchema]]) => ({ name, description: name, inputSchema })),
  }));
  s.setRequestHandler('tools/call', async (r, x) => {
    const t = tools[r.params.name];
    if (!t) throw new ProtocolError(-32602, 'Unknown tool');
    return t[1](r.params.arguments ?? {}, x);
  });
  s.setRequestHandler('resources/list', async () => ({
    resources: Object.entries(res).map(([uri, v]) => ({ uri, name: uri, mimeType: v.mimeType })),
  }));
  s.setRequestHandler('resources/templates/list', async () => ({
    resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template' }],
  }));
  s.setRequestHandler('resources/read', async (r) => {
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
    if (!res[u]) throw new ProtocolError(-32602, 'Resource not found', { uri: u });
    return { contents: [{ uri: u, ...res[u] }] };
  });
  s.setRequestHandler('prompts/list', async () => ({
    prompts: Object.entries(prompts).map(([name, [args]]) => ({ name, description: name, arguments: args })),
  }));
  s.setRequestHandler('prompts/get', async (r, x) => {
    const p = prompts[r.params.name];
    if (!p) throw new ProtocolError(-32602, 'Unknown prompt');
    return p[1](r.params.arguments ?? {}, x);
  });
  s.setRequestHandler('completion/complete', async () => ({
    completion: { values: ['paris', 'park', 'party'], total: 3, hasMore: false },
  }));
  return s;
};
if (process.argv[2] === 'stdio') {
  serveStdio(make);
} else {
  const h = toNodeHandler(createMcpHandler(make)),
    vh = localhostHostValidation(),
    vo = localhostOriginValidation();
  createServer((q, s) => {
    if (vh(q, s) && vo(q, s)) h(q, s);
  }).listen(0, '127.0.0.1');
}
