import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { startSilentTarget } from '../../helpers/targets/hostile-target.ts';

/** Fills a small file descriptor table with probes, then with files, and reports the results of the probes. */
const script = `
  import { openSync } from 'node:fs';
  import { probe } from ${JSON.stringify(new URL('../../helpers/targets/http-request.ts', import.meta.url).href)};
  const url = process.env.TARGET_URL;
  await probe('http://127.0.0.1:1/');
  const held = new AbortController();
  const running = Array.from({ length: 60 }, () => probe(url, { timeoutMs: 60_000, signal: held.signal }));
  await Promise.race(running);
  // Descriptors that others close meanwhile are taken too, until nothing was free for many turns of the event loop.
  for (let fullTurns = 0; fullTurns < 200; fullTurns += 1) {
    try { for (;;) { openSync('/dev/null', 'r'); fullTurns = 0; } } catch (error) { if (error.code !== 'EMFILE') throw error; }
    await new Promise((resolve) => setImmediate(resolve));
  }
  const named = await probe(url.replace('127.0.0.1', 'localhost'), { timeoutMs: 20_000 });
  held.abort();
  const kinds = new Set((await Promise.all(running)).map(({ error }) => error?.kind));
  console.log(JSON.stringify({ kinds: [...kinds].sort(), named: named.error?.kind, message: named.error?.message }));
`;

it('a probe without file descriptors blames the agent, not the target', async () => {
  const target = await startSilentTarget();
  const command = 'ulimit -n 60; exec "$0" --input-type=module --eval "$1"';
  const child = spawn('sh', ['-c', command, process.execPath, script], {
    env: { ...process.env, TARGET_URL: target.url },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const output = JSON.parse(await text(child.stdout));
  await target.close();
  expect(output.kinds).toEqual(['aborted', 'out-of-resources']);
  expect(output.named).toBe('out-of-resources');
  expect(output.message).toContain('EMFILE');
});
