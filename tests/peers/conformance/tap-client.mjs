// Has our client do what a client of the conformance suite does: node tap-client.mjs TAP DATABASE URL
//
// The suite appends the URL of its server, and names the scenario in the environment. The tools are listed, and each of
// them is called as a user would, with `mcp-tap call`; what to call with what comes from the suite where it says so.
import { spawn } from 'node:child_process';

const [program, database, url] = process.argv.slice(2);
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');

function run(...words) {
  const child = spawn(program, ['--db', database, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text) => (out += text));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out })));
}

/** A value that fits a schema, as far as the suite's tools have them. */
function example(schema = {}, whole = schema) {
  if (schema.$ref?.startsWith('#/$defs/')) return example(whole.$defs?.[schema.$ref.slice('#/$defs/'.length)], whole);
  if (schema.default !== undefined) return schema.default;
  if (schema.enum) return schema.enum[0];
  switch (schema.type) {
    case 'object':
      return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, of]) => [name, example(of, whole)]));
    case 'array':
      return [];
    case 'boolean':
      return true;
    case 'number':
    case 'integer':
      return 5;
    default:
      return 'x';
  }
}

const listed = await run('tools', '--json', '--url', url);
if (listed.code !== 0) process.exit(listed.code);
const tools = JSON.parse(listed.out).tools ?? [];
const calls = context.toolCalls ?? tools.map((tool) => ({ name: tool.name, arguments: example(tool.inputSchema) }));
// One scenario wants to have the schema of a tool back, as it was listed.
for (const call of calls.filter((call) => call.name === 'json_schema_echo')) {
  call.arguments.schema = tools.find((tool) => tool.name === 'json_schema_2020_12_tool')?.inputSchema;
}
// Forms that ask for something else are filled in with what they hold by default. What the suite says is to be sent, fit or not.
const words = ['--json', '--answer', 'confirmed:=true', ...(context.toolCalls ? ['--no-check'] : [])];
let code = 0;
for (const call of calls) {
  const done = await run('call', '--url', url, ...words, call.name, JSON.stringify(call.arguments ?? {}));
  console.log(call.name, done.code, done.out.trim());
  code = Math.max(code, done.code ?? 70);
}
process.exit(code);
