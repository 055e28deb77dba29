import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const { describe: describeError } = createRequire(import.meta.url)('./events.cjs') as {
  describe(error: unknown, place?: object): { name: string; message: string; stack: string | null };
};

it('names the reason and the line of a failed request', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  const thrown = await fetch(`http://127.0.0.1:${port}/`).catch((error: unknown) => error);
  expect(describeError(thrown).message).toContain(`fetch failed: connect ECONNREFUSED 127.0.0.1:${port}`);
  // In the form in which Playwright passes errors on.
  const location = { file: '/run/check.spec.ts', line: 4, column: 11 };
  const cause = { message: 'Error: connect ECONNREFUSED 127.0.0.1:9' };
  expect(describeError({ message: 'TypeError: fetch failed', location, cause }).message).toBe(
    'TypeError: fetch failed: connect ECONNREFUSED 127.0.0.1:9 (check.spec.ts:4:11)',
  );
  const each = new AggregateError([
    new Error('connect ECONNREFUSED ::1:9'),
    new Error('connect ECONNREFUSED 127.0.0.1:9'),
  ]);
  expect(describeError(new TypeError('fetch failed', { cause: each })).message).toContain(
    'fetch failed: connect ECONNREFUSED ::1:9, connect ECONNREFUSED 127.0.0.1:9',
  );
  const stack = 'Error: x\n    at node:internal/deps/undici:1:2\n    at async /run/script.js:3:7';
  expect(describeError({ message: 'x', stack, cause: { code: 'ECONNRESET' } }).message).toBe(
    'x: ECONNRESET (script.js:3:7)',
  );
});

it('names the position of the test for a socket error without a useful stack', () => {
  const place = { file: '/run/check.spec.ts', line: 3, column: 1 };
  const stack = 'Error: read ECONNRESET\n    at TCP.onStreamRead (node:internal/stream_base_commons:1:2)';
  expect(describeError({ message: 'read ECONNRESET', stack }, place).message).toBe(
    'read ECONNRESET (check.spec.ts:3:1)',
  );
  // Plain scripts are top-level code of a module, whose function has no name.
  const top = 'Error: x\n    at Object.<anonymous> (/run/script.ts:2:7)\n    at <anonymous>';
  expect(describeError({ message: 'x', stack: top, cause: { code: 'ECONNRESET' } }).message).toBe(
    'x: ECONNRESET (script.ts:2:7)',
  );
  // An error that names its line, or has no stack, like a timeout, stays unchanged.
  const own = `${stack}\n    at async /run/script.js:3:7`;
  expect(describeError({ message: 'read ECONNRESET', stack: own }, place).message).toBe('read ECONNRESET');
  expect(describeError({ message: 'Test timeout of 30000ms exceeded.' }, place).message).not.toContain('3:1');
});

it('adds the awaiting line to errors of fetch and its bodies', async () => {
  const { keepCallSites } = createRequire(import.meta.url)('./call-sites.cjs') as { keepCallSites(): void };
  const { fetch: before } = globalThis;
  const bodies = Object.getOwnPropertyDescriptors(Response.prototype);
  const server = createServer((socket) => {
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    keepCallSites();
    expect([fetch.name, fetch.length, Response.prototype.json.name]).toEqual([
      'fetch',
      before.length,
      'json',
    ]);
    const refused = await fetch('http://127.0.0.1:1/').catch((error: unknown) => error);
    expect((refused as Error).stack).toContain('events.test.ts');
    const broken = await fetch(`http://127.0.0.1:${port}/`).then((answer) =>
      answer.json().catch((error: unknown) => error),
    );
    expect((broken as Error).stack).toContain('events.test.ts');
  } finally {
    globalThis.fetch = before;
    Object.defineProperties(Response.prototype, bodies);
    server.close();
  }
});

it('loads no client for HTTP before a script uses one', async () => {
  const source = `require(process.argv[1]).keepCallSites();
    const isLoaded = () => process.moduleLoadList.some((name) => name.endsWith('undici/undici'));
    const before = isLoaded();
    fetch('data:,').then((answer) => answer.text()).then(() => console.log(before, isLoaded(), Response.prototype.json.name));`;
  const program = join(import.meta.dirname, 'call-sites.cjs');
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', source, program]);
  expect(stdout.trim()).toBe('false true json');
});

it('leaves other errors unchanged, and stops at circular causes', () => {
  expect(describeError(new Error('plain')).message).toBe('plain');
  const loop: Error & { cause?: unknown } = new Error('loop');
  loop.cause = loop;
  expect(describeError(loop).message).toContain('loop');
  expect(describeError('text').message).toBe('text');
});
