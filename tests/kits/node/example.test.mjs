// An example: the official SDK's client with a recorded server. Run: node --test example.test.mjs
import assert from 'node:assert/strict';
import test from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { mcpReplay } from './mcp-replay.mjs';

const recording = new URL('../../../recordings/demo-server.mcprec', import.meta.url);

// Does something with a client of the server, and closes it whatever happens.
async function withClient({ command, args }, work) {
  const client = new Client({ name: 'example', version: '1.0.0' });
  try {
    await client.connect(new StdioClientTransport({ command, args }));
    await work(client);
  } finally {
    await client.close();
  }
}

test('all of it', async (t) => {
  await withClient(mcpReplay(t, recording), async (client) => {
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map(({ name }) => name), ['forecast', 'report']);
    const oslo = await client.callTool({ name: 'forecast', arguments: { city: 'Oslo' } });
    assert.equal(oslo.content[0].text, 'Oslo: 7 degrees, rain in the afternoon');
    await client.callTool({ name: 'report', arguments: { city: 'Oslo' } });
    assert.ok((await client.callTool({ name: 'forecast', arguments: { city: 'Atlantis' } })).isError);
  });
});

test('some of it', async (t) => {
  const server = mcpReplay(t, recording, { strict: false, options: ['--loose', 'case'] });
  await withClient(server, async (client) => {
    const oslo = await client.callTool({ name: 'forecast', arguments: { city: 'OSLO' } });
    assert.equal(oslo.content[0].text, 'Oslo: 7 degrees, rain in the afternoon');
  });
  const { asked, unused } = await server.report();
  assert.deepEqual(asked, ['initialize', 'tools/call forecast']);
  assert.ok(unused.some(({ what }) => what === 'tools/call report'));
});
