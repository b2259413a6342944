// A client on the first TypeScript SDK that the conformance suite can drive: it gives the server's URL as the last argument,
// and names the scenario in the environment.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import * as T from '@modelcontextprotocol/sdk/types.js';
const url = new URL(process.argv.at(-1));
const sc = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
const ctx = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const st = {};
let code;
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
    code = new URL(r.headers.get('location')).searchParams.get('code');
  },
};
const mk = () => {
  const c = new Client(
    { name: 'tap-test-client', version: '1.0.0' },
    { capabilities: { elicitation: { form: { applyDefaults: true } }, sampling: {} } },
  );
  c.setRequestHandler(T.ElicitRequestSchema, async () => ({ action: 'accept', content: {} }));
  return c;
};
const tr = () => new StreamableHTTPClientTransport(url, sc.startsWith('auth/') ? { authProvider: provider } : {});
let t = tr(),
  c = mk();
const retry = async (f) => {
  for (let i = 0; i < 3; i++) {
    try {
      return await f();
    } catch (e) {
      if (!(e instanceof UnauthorizedError) || !code) throw e;
      await t.finishAuth(code);
      code = undefined;
      if (f === connect) {
        t = tr();
        c = mk();
      }
    }
  }
  return f();
};
const connect = () => c.connect(t);
await retry(connect);
const { tools } = await retry(() => c.listTools());
for (const x of tools) {
  const r = await retry(() =>
    c.callTool({ name: x.name, arguments: x.inputSchema?.properties?.a ? { a: 5, b: 3 } : {} }),
  );
  console.log(x.name, JSON.stringify(r).slice(0, 200));
}
await c.close();
