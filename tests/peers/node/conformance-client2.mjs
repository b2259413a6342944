// A client on the second TypeScript SDK that the conformance suite can drive: it gives the server's URL as the last argument,
// and names the scenario in the environment.
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
const url = new URL(process.argv.at(-1));
const sc = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
const ctx = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const st = {};
let cb;
const provider = {
  redirectUrl: 'http://localhost:3000/callback',
  clientMetadataUrl: sc.includes('cimd') ? 'https://conformance-test.local/client-metadata.json' : undefined,
  clientMetadata: {
    client_name: 'conf',
    redirect_uris: ['http://localhost:3000/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  },
  clientInformation: () =>
    st.info ?? (ctx.client_id ? { client_id: ctx.client_id, client_secret: ctx.client_secret } : undefined),
  saveClientInformation: (i) => {
    st.info = i;
  },
  tokens: () => st.tok,
  saveTokens: (t) => {
    st.tok = t;
  },
  saveCodeVerifier: (v) => {
    st.v = v;
  },
  codeVerifier: () => st.v,
  saveDiscoveryState: (d) => {
    st.d = d;
  },
  discoveryState: () => st.d,
  invalidateCredentials: (s) => {
    if (s === 'all' || s === 'tokens') delete st.tok;
    if (s === 'all' || s === 'client') delete st.info;
  },
  async redirectToAuthorization(u) {
    const r = await fetch(u, { redirect: 'manual' });
    cb = new URL(r.headers.get('location')).searchParams;
  },
};
const mk = () => {
  const c = new Client(
    { name: 'tap-test-client', version: '1.0.0' },
    {
      capabilities: { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} },
      versionNegotiation: { mode: 'auto' },
    },
  );
  c.setRequestHandler('elicitation/create', async (r) => ({
    action: 'accept',
    content: Object.fromEntries(
      Object.entries(r.params.requestedSchema?.properties ?? {}).map(([k, v]) => [
        k,
        v.default ?? (v.type === 'boolean' ? true : v.type === 'string' ? 'x' : 1),
      ]),
    ),
  }));
  c.setRequestHandler('sampling/createMessage', async () => ({
    model: 'm',
    role: 'assistant',
    content: { type: 'text', text: 'hi' },
  }));
  c.setRequestHandler('roots/list', async () => ({ roots: [] }));
  return c;
};
const tr = () => new StreamableHTTPClientTransport(url, sc.startsWith('auth/') ? { authProvider: provider } : {});
let t = tr(),
  c = mk();
const connect = () => c.connect(t);
const retry = async (f) => {
  for (let i = 0; i < 3; i++) {
    try {
      return await f();
    } catch (e) {
      if (!(e instanceof UnauthorizedError) || !cb) throw e;
      await t.finishAuth(cb);
      cb = undefined;
      if (f === connect) {
        t = tr();
        c = mk();
      }
    }
  }
  return f();
};
await retry(connect);
const { tools } = await retry(() => c.listTools());
const calls =
  ctx.toolCalls ?? tools.map((x) => ({ name: x.name, arguments: x.inputSchema?.properties?.a ? { a: 5, b: 3 } : {} }));
for (const k of calls) {
  try {
    const r = await retry(() => c.callTool({ name: k.name, arguments: k.arguments }));
    console.log(k.name, JSON.stringify(r).slice(0, 200));
  } catch (e) {
    console.log(k.name, 'ERR', e.message);
    if (sc.startsWith('auth/')) throw e;
  }
}
await c.close();
