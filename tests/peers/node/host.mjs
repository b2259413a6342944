// A host with a model that follows a script: node host.mjs SCRIPT.json COMMAND ARGUMENTS… | URL
//
// SCRIPT is {"host": "codex" | "claude" | "opencode", "calls": [[TOOL, ARGUMENTS]…]}; MCP_TAP_HOSTS is the folder in which
// hosts are installed, each in a folder with its name (`npm install --prefix codex @openai/codex@0.171.0`). The host gets
// a home of its own, and believes that this process is the provider of its model. Prints what the model was told each tool
// had answered, one JSON object a line.
import { spawn } from 'node:child_process';
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

if (!process.env.MCP_TAP_HOSTS) throw new Error('MCP_TAP_HOSTS says in which folder hosts are installed');
const [scriptPath, command, ...args] = process.argv.slice(2);
const { host, calls } = JSON.parse(readFileSync(scriptPath, 'utf8'));
const isRemote = /^https?:/.test(command);

// The tools that are offered, by the name that the server gave them, and what tools have answered so far.
function read(body) {
  const tools = (body.tools ?? []).flatMap((tool) =>
    tool.type === 'namespace'
      ? tool.tools.map(({ name }) => ({ name, namespace: tool.name }))
      : [{ name: tool.function?.name ?? tool.name ?? '' }],
  );
  const said = (body.messages ?? body.input ?? []).flatMap((message) => {
    if (message.role === 'tool') return [message.content];
    if (message.type === 'function_call_output') return [message.output];
    const parts = Array.isArray(message.content) ? message.content : [];
    return parts.filter(({ type }) => type === 'tool_result').map(({ content }) => content);
  });
  return { tools, said };
}

let told = [];
let n = 0;

// The next step of the script: a call, or nothing when all is done or its tool is not offered.
function next(body) {
  const { tools, said } = read(body);
  if (said.length > told.length) told = said;
  const [wanted, input] = calls[said.length] ?? [];
  const tool = wanted && tools.find(({ name }) => name === wanted || name.endsWith(`_${wanted}`));
  return tool && { ...tool, input };
}

// The three ways in which these hosts ask a model. All of them want streams.
const ways = {
  '/chat/completions'(call) {
    const base = { id: `chatcmpl-${n}`, created: 0, model: 'fake', object: 'chat.completion.chunk' };
    const functions = call && [{ name: call.name, arguments: JSON.stringify(call.input) }];
    const delta = functions
      ? { role: 'assistant', tool_calls: functions.map((of) => ({ index: 0, id: `call_${n}`, type: 'function', function: of })) }
      : { role: 'assistant', content: 'done' };
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    return [
      { ...base, choices: [{ index: 0, delta, finish_reason: null }] },
      { ...base, choices: [{ index: 0, delta: {}, finish_reason: call ? 'tool_calls' : 'stop' }], usage },
    ];
  },
  '/responses'(call) {
    const item = call
      ? {
          type: 'function_call',
          id: `fc_${n}`,
          call_id: `call_${n}`,
          name: call.name,
          ...(call.namespace && { namespace: call.namespace }),
          arguments: JSON.stringify(call.input),
          status: 'completed',
        }
      : {
          type: 'message',
          id: `msg_${n}`,
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'done', annotations: [] }],
        };
    const details = { input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } };
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2, ...details };
    const response = { id: `resp_${n}`, object: 'response', created_at: 0, status: 'completed', model: 'fake', output: [item], usage };
    return [
      { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress' } },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response },
    ].map((event, sequence_number) => ({ ...event, sequence_number }));
  },
  '/messages'(call) {
    const id = `toolu_${String(n).padStart(24, '0')}`;
    const block = call ? { type: 'tool_use', id, name: call.name, input: {} } : { type: 'text', text: '' };
    const delta = call
      ? { type: 'input_json_delta', partial_json: JSON.stringify(call.input) }
      : { type: 'text_delta', text: 'done' };
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id: `msg_${n}`, type: 'message', role: 'assistant', model: 'fake', content: [], usage };
    const end = { stop_reason: call ? 'tool_use' : 'end_turn', stop_sequence: null };
    return [
      { type: 'message_start', message: { ...message, stop_reason: null, stop_sequence: null } },
      { type: 'content_block_start', index: 0, content_block: block },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: end, usage },
      { type: 'message_stop' },
    ];
  },
};

const model = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const { pathname } = new URL(request.url, 'http://localhost');
  const way = Object.keys(ways).find((end) => pathname.endsWith(end));
  if (!way || request.method !== 'POST') {
    response.writeHead(pathname.endsWith('/models') ? 200 : 404, { 'content-type': 'application/json' }).end('{"data":[]}');
    return;
  }
  n += 1;
  const events = ways[way](next(JSON.parse(Buffer.concat(chunks))));
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) response.write(`event: ${event.type ?? 'message'}\ndata: ${JSON.stringify(event)}\n\n`);
  response.end(way === '/chat/completions' ? 'data: [DONE]\n\n' : '');
});
await new Promise((listens) => model.listen(0, '127.0.0.1', listens));
const origin = `http://127.0.0.1:${model.address().port}`;

const home = mkdtempSync(join(tmpdir(), 'tap-test-host-'));
const write = (name, text) => writeFileSync(join(home, name), text);
const hosts = {
  codex() {
    mkdirSync(join(home, '.codex'));
    const server = isRemote ? `url = ${JSON.stringify(command)}` : `command = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\ncwd = ${JSON.stringify(process.cwd())}`;
    write(
      '.codex/config.toml',
      `model = "fake"\nmodel_provider = "fake"\napproval_policy = "never"\nsandbox_mode = "read-only"
[model_providers.fake]\nname = "fake"\nbase_url = "${origin}/v1"\nenv_key = "FAKE_KEY"\nwire_api = "responses"
[mcp_servers.tap]\ndefault_tools_approval_mode = "approve"\nrequired = true\nstartup_timeout_sec = 60\n${server}\n`,
    );
    return ['codex', 'exec', '--skip-git-repo-check', 'do it'];
  },
  claude() {
    const server = isRemote ? { type: 'http', url: command } : { type: 'stdio', command, args };
    write('mcp.json', JSON.stringify({ mcpServers: { tap: server } }));
    const config = ['--mcp-config', join(home, 'mcp.json'), '--strict-mcp-config', '--allowedTools', 'mcp__tap'];
    return ['claude', '-p', 'do it', ...config, '--model', 'fake'];
  },
  opencode() {
    const server = isRemote ? { type: 'remote', url: command } : { type: 'local', command: [command, ...args] };
    const provider = {
      npm: '@ai-sdk/openai-compatible',
      name: 'fake',
      options: { baseURL: `${origin}/v1`, apiKey: 'x' },
      models: { fake: { name: 'fake', tool_call: true } },
    };
    mkdirSync(join(home, '.config/opencode'), { recursive: true });
    write(
      '.config/opencode/opencode.json',
      JSON.stringify({
        autoupdate: false,
        share: 'disabled',
        model: 'fake/fake',
        small_model: 'fake/fake',
        enabled_providers: ['fake'],
        provider: { fake: provider },
        mcp: { tap: { ...server, enabled: true } },
      }),
    );
    return ['opencode', 'run', 'do it'];
  },
};
const [program, ...words] = hosts[host]();
const env = {
  PATH: process.env.PATH,
  HOME: home,
  FAKE_KEY: 'x',
  ANTHROPIC_BASE_URL: origin,
  ANTHROPIC_API_KEY: 'fake',
  ENABLE_TOOL_SEARCH: 'false',
  MCP_CONNECTION_NONBLOCKING: '0',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  OPENCODE_DISABLE_AUTOUPDATE: '1',
  OPENCODE_DISABLE_MODELS_FETCH: '1',
};
const path = join(process.env.MCP_TAP_HOSTS, host, 'node_modules/.bin', program);
const running = spawn(path, words, { env, cwd: process.cwd(), stdio: ['ignore', 'pipe', 'pipe'] });
const output = [];
running.stdout.on('data', (data) => output.push(data));
running.stderr.on('data', (data) => output.push(data));
const limit = setTimeout(() => running.kill('SIGKILL'), 120_000);
const code = await new Promise((resolve) => running.once('close', resolve));
clearTimeout(limit);
rmSync(home, { recursive: true, force: true });
for (const answer of told) console.log(JSON.stringify({ told: answer }).replace(/Wall time: [\d.]+ seconds/, 'Wall time: <time>'));
if (code !== 0 || told.length < calls.length) {
  console.error(`${host} ended with ${code}, and heard of ${told.length} calls: ${Buffer.concat(output)}`);
  process.exitCode = 1;
}
model.close();
model.closeAllConnections();
