// A real client, on the second TypeScript SDK: node client2.mjs SCRIPT.json COMMAND ARGUMENTS… | URL
//
// SCRIPT and what is printed are as in client.mjs. {"mode": "legacy" | "auto" | REVISION} says how it opens.
import { readFileSync } from 'node:fs';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [scriptPath, command, ...args] = process.argv.slice(2);
const { capabilities = {}, environment = {}, roots = [], mode, steps } = JSON.parse(readFileSync(scriptPath, 'utf8'));

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}

const print = (line) => console.log(JSON.stringify(sorted(line)));

const versionNegotiation = { mode: mode === 'legacy' || mode === 'auto' ? mode : { pin: mode } };
const client = new Client({ name: 'tap-test-client', version: '1.0.0' }, { capabilities, versionNegotiation });
if (capabilities.elicitation) {
  client.setRequestHandler('elicitation/create', async ({ params }) => ({
    action: 'accept',
    content: Object.fromEntries(Object.keys(params.requestedSchema.properties).map((name) => [name, 'words'])),
  }));
}
if (capabilities.sampling) {
  const text = 'a sampled answer';
  client.setRequestHandler('sampling/createMessage', async () => ({
    model: 'none',
    role: 'assistant',
    content: { type: 'text', text },
  }));
}
if (capabilities.roots) {
  client.setRequestHandler('roots/list', async () => ({ roots: roots.map((uri) => ({ uri, name: 'a root' })) }));
}

const ask = {
  ping: () => client.ping(),
  'tools/list': () => client.listTools(),
  'tools/call': (params, options) => client.callTool(params, options),
  'resources/list': () => client.listResources(),
  'resources/read': (params) => client.readResource(params),
  'prompts/list': () => client.listPrompts(),
  'prompts/get': (params) => client.getPrompt(params),
};

const transport = /^https?:/.test(command)
  ? new StreamableHTTPClientTransport(new URL(command))
  : new StdioClientTransport({ command, args, env: environment });
// Overheard, because the SDK forgets who wanted to hear of progress when the result comes in the same piece.
transport.onmessage = ({ method, params }) => {
  if (method !== 'notifications/progress') return;
  const { progressToken, ...message } = params;
  print({ message });
};
try {
  await client.connect(transport);
} catch ({ code, name }) {
  // The words of it may hold what differs between any two runs.
  print({ refused: { code, name } });
  process.exit();
}
print({ revision: client.getNegotiatedProtocolVersion(), server: client.getServerVersion() });
for (const [method, params, { progress } = {}] of steps) {
  const target = params?.name ?? params?.uri;
  const options = progress ? { onprogress: () => {} } : {};
  try {
    print({ step: method, target, result: await ask[method](params, options) });
  } catch ({ code, message, data }) {
    print({ step: method, target, error: { code, message, data } });
  }
}
await transport.terminateSession?.();
await client.close();
process.exit();
