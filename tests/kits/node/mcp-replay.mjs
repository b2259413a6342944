// Recorded MCP servers in tests of node:test, Vitest and others.
//
//   import { mcpReplay } from './mcp-replay.mjs';
//   test('mine', async (t) => {
//     const { command, args } = mcpReplay(t, new URL('weather.mcprec', import.meta.url));
//     …  // give them to a client's stdio transport, and close that
//   });
//
// When the test is over it fails if the client asked what was not recorded, or did not ask all that was. `t` is what the
// runner gives a test: node:test has `after` in it, Vitest `onTestFinished`. With {strict: false} nothing fails, and
// `await report()` says what happened. {options: ['--loose', 'case']} are options of `mcp-tap replay`. The program is
// `mcp-tap`, or what MCP_TAP in the environment says.
import { readFile, rm } from 'node:fs/promises';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const REPORT_LIMIT_MS = 20_000;

export class Replay {
  #folder = mkdtempSync(join(tmpdir(), 'mcp-replay-'));

  constructor(file, { options = [] } = {}) {
    this.command = process.env.MCP_TAP ?? 'mcp-tap';
    const path = file instanceof URL ? fileURLToPath(file) : file;
    this.args = ['replay', path, '--report', this.#reportPath(), ...options];
  }

  #reportPath() {
    return join(this.#folder, 'report.json');
  }

  // What the client did, as `mcp-tap replay --report` writes it: `asked`, `misses`, `unused` and more. The server writes it
  // when its stdin is closed, so the client has to be closed first.
  async report() {
    const limit = Date.now() + REPORT_LIMIT_MS;
    for (;;) {
      try {
        // Renamed into place when it is whole.
        return JSON.parse(await readFile(this.#reportPath(), 'utf8'));
      } catch (error) {
        if (error.code !== 'ENOENT') throw error;
        if (Date.now() > limit) {
          const words = [this.command, ...this.args].join(' ');
          throw new Error(`no report from \`${words}\`: was it started, and has its client been closed?`);
        }
      }
      await sleep(10);
    }
  }

  // Throws when the client did not do what was recorded, no more and no less.
  async check() {
    const { misses, unused } = await this.report();
    const told = [
      ...misses.map(({ text }) => text.trimEnd()),
      ...unused.map(({ what, line }) => `never asked: ${what}${line ? ` (line ${line})` : ''}`),
    ];
    if (told.length > 0) throw new Error(safe(told.join('\n')));
  }

  async remove() {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

// Without characters that act on a terminal: what was recorded is not to be trusted.
const safe = (text) =>
  text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => (c === '\n' ? c : `\\u{${c.codePointAt(0).toString(16)}}`));

export function mcpReplay(t, file, { strict = true, options = [] } = {}) {
  const atTheEnd = t.after ?? t.onTestFinished;
  if (!atTheEnd) throw new TypeError('mcpReplay wants what the runner gives a test: test(NAME, async (t) => …)');
  const replay = new Replay(file, { options });
  atTheEnd.call(t, async () => {
    try {
      if (strict) await replay.check();
    } finally {
      await replay.remove();
    }
  });
  return replay;
}
