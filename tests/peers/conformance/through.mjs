// Runs a client of the conformance suite with a tap on its way: node through.mjs WAY TAP DATABASE CLIENT… URL
//
// The suite appends the URL of its server. WAY is `nothing`, `reverse` (the client is given the tap's URL) or `forward`
// (the client is given the suite's URL, and the tap as its proxy). The client's exit status is ours, unless the tap does
// not end well.
import { spawn } from 'node:child_process';
import { dirname } from 'node:path';

const [way, tapProgram, database, ...rest] = process.argv.slice(2);
const url = rest.pop();
const environment = { ...process.env };
for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY']) {
  delete environment[name];
  delete environment[name.toLowerCase()];
}
// A forward proxy keeps its authority there.
environment.XDG_DATA_HOME = dirname(database);

function ended(child) {
  return new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
}

async function started() {
  const what = way === 'forward' ? ['--forward'] : [url];
  const command = ['--db', database, 'proxy', '--listen', '127.0.0.1:0', ...what];
  const child = spawn(tapProgram, command, { stdio: ['ignore', 'ignore', 'pipe'], env: environment });
  const exit = ended(child);
  let said = '';
  const named = new Promise((resolve) =>
    child.stderr.setEncoding('utf8').on('data', (text) => {
      said += text;
      const found = /http:\/\/127\.0\.0\.1:\d+\S*(?=\s)/.exec(said);
      if (found) resolve(found[0]);
    }),
  );
  const tapUrl = await Promise.race([named, exit.then(() => undefined)]);
  if (!tapUrl) throw new Error(`the tap names no URL: ${said}`);
  return { child, exit, url: tapUrl, said: () => said };
}

const tap = way === 'nothing' ? undefined : await started();
if (way === 'forward') Object.assign(environment, { HTTP_PROXY: tap.url, NODE_USE_ENV_PROXY: '1' });
const [program, ...args] = [...rest, way === 'reverse' ? tap.url : url];
const status = await ended(spawn(program, args, { stdio: 'inherit', env: environment }));
if (tap) {
  tap.child.kill('SIGTERM');
  const tapStatus = await tap.exit;
  if (tapStatus !== 0) {
    console.error(`the tap ended with ${tapStatus}: ${tap.said()}`);
    process.exit(70);
  }
}
process.exit(typeof status === 'number' ? status : 71);
