// A real client, on the SDK that most hosts are built on: node client.mjs SCRIPT.json COMMAND ARGUMENTS… | URL
//
// SCRIPT is {"capabilities": {…}, "environment": {…}, "roots": [uri…], "steps": [[METHOD, PARAMS, OPTIONS]…]}. Each step
// is awaited before the next. With a URL, {"transport": "sse"} chooses the older of the two HTTP transports. Besides the methods of MCP there is ["wait", METHOD]: until the server has sent that.
// OPTIONS: {"progress": true} asks for progress; {"cancel": METHOD} gives up the call when the server asks METHOD of us,
// which is a moment that does not depend on how fast anybody is.
//
// Prints each message that the server sends, in that order, and what became of each step, one JSON object a line. So
// that two runs can be compared, keys are sorted, and what differs between any two runs (times, uuids) is replaced.
// stderr is the server's alone.
import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as schema from '@modelcontextprotocol/sdk/types.js';

const [scriptPath, command, ...args] = process.argv.slice(2);
const isRemote = /^https?:/.test(command);
const { capabilities = {}, environment = {}, roots = [], steps, transport: kind } = JSON.parse(readFileSync(scriptPath, 'utf8'));

const volatile = [
  [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>'],
  [/\w{3} \w{3} \d\d \d{4} \d\d:\d\d:\d\d GMT[+-]\d{4}( \([^)]*\))?/g, '<time>'],
  [/\d{1,2}:\d\d:\d\d( [AP]M)?/g, '<time>'],
];

function canonical(value) {
  if (typeof value === 'string') {
    return volatile.reduce((text, [pattern, name]) => text.replace(pattern, name), value);
  }
  if (Array.isArray(value)) return value.map(canonical);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, canonical(value[key])]));
}

const print = (line) => console.log(JSON.stringify(canonical(line)));

const seen = new Set();
const waiting = new Map();
// What to do when the server asks something, while a call waits to be given up.
let giveUp = {};

const client = new Client({ name: 'tap-test-client', version: '1.0.0' }, { capabilities });

function answer(requestSchema, result) {
  client.setRequestHandler(requestSchema, async ({ method, params }) => {
    giveUp[method]?.();
    return result(params);
  });
}

const fields = { string: 'words', boolean: true, integer: 1, number: 1 };
const formats = { email: 'someone@example.com', uri: 'https://example.com/', date: '2026-01-02' };
function fill({ properties }) {
  const value = (of) => of.default ?? formats[of.format] ?? of.enum?.[0] ?? of.oneOf?.[0].const ?? fields[of.type];
  return Object.fromEntries(Object.entries(properties).map(([name, of]) => [name, value(of)]));
}

if (capabilities.sampling) {
  const text = 'a sampled answer';
  answer(schema.CreateMessageRequestSchema, () => ({ model: 'none', role: 'assistant', content: { type: 'text', text } }));
}
if (capabilities.elicitation) {
  answer(schema.ElicitRequestSchema, (params) =>
    params.mode === 'url' ? { action: 'accept' } : { action: 'accept', content: fill(params.requestedSchema) },
  );
}
if (capabilities.roots) {
  answer(schema.ListRootsRequestSchema, () => ({ roots: roots.map((uri) => ({ uri, name: 'a root' })) }));
}
client.onerror = ({ message }) => {
  // The SDK forgets who wanted to hear of progress once it has read the result, also where both came in one piece, the
  // progress first. Whether they do differs from run to run.
  if (!message.startsWith('Received a progress notification')) print({ trouble: message });
};

const ask = {
  ping: (_, options) => client.ping(options),
  'tools/list': (params, options) => client.listTools(params, options),
  'tools/call': (params, options) => client.callTool(params, undefined, options),
  'resources/list': (params, options) => client.listResources(params, options),
  'resources/templates/list': (params, options) => client.listResourceTemplates(params, options),
  'resources/read': (params, options) => client.readResource(params, options),
  'resources/subscribe': (params, options) => client.subscribeResource(params, options),
  'resources/unsubscribe': (params, options) => client.unsubscribeResource(params, options),
  'prompts/list': (params, options) => client.listPrompts(params, options),
  'prompts/get': (params, options) => client.getPrompt(params, options),
  'completion/complete': (params, options) => client.complete(params, options),
  'logging/setLevel': ({ level }, options) => client.setLoggingLevel(level, options),
};

async function take([method, params, { progress, cancel } = {}]) {
  if (method === 'wait') {
    if (!seen.has(params)) await new Promise((resolve) => waiting.set(params, resolve));
    return;
  }
  const options = {};
  if (progress) options.onprogress = () => {};
  if (cancel) {
    const controller = new AbortController();
    options.signal = controller.signal;
    giveUp = { [cancel]: () => controller.abort('not wanted any more') };
  }
  try {
    const result = await ask[method](params, options);
    // Over HTTP the answers of a server come on several streams, so that their order alone does not tell whose each is.
    print(isRemote ? { step: method, target: target(params), result } : { step: method });
  } catch ({ code, message, data }) {
    print({ step: method, ...(isRemote && { target: target(params) }), error: { code, message, data } });
  }
  giveUp = {};
}

const target = (params) => params?.name ?? params?.uri;

function connection() {
  if (!isRemote) return new StdioClientTransport({ command, args, env: environment });
  const Transport = kind === 'sse' ? SSEClientTransport : StreamableHTTPClientTransport;
  return new Transport(new URL(command));
}

const transport = connection();
transport.onmessage = (message) => {
  print({ message });
  seen.add(message.method);
  waiting.get(message.method)?.();
};
await client.connect(transport);
print({ server: client.getServerVersion() });
for (const step of steps) await take(step);
if (isRemote) {
  await transport.terminateSession?.();
  await client.close();
  process.exit();
}
// The SDK does not tell how the server ended, and terminates one that needs more than two seconds for it, which on a busy
// machine is any. Its version is pinned, so its own field will do.
const server = transport._process;
const ended = new Promise((resolve) => server.once('exit', (code, signal) => resolve({ code, signal })));
server.stdin.end();
print({ ended: await ended });
await client.close();
