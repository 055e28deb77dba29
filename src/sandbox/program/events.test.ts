import { once } from 'node:events';
import { createRequire } from 'node:module';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it } from 'vitest';

const { describe: describeError } = createRequire(import.meta.url)('./events.cjs') as {
  describe(error: unknown): { name: string; message: string; stack: string | null };
};

it('names the reason and the line of a request that failed', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  const thrown = await fetch(`http://127.0.0.1:${port}/`).catch((error: unknown) => error);
  expect(describeError(thrown).message).toContain(`fetch failed: connect ECONNREFUSED 127.0.0.1:${port}`);
  // As Playwright hands errors on.
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

it('leaves other errors as they are, and ends with causes that lead back to themselves', () => {
  expect(describeError(new Error('plain')).message).toBe('plain');
  const loop: Error & { cause?: unknown } = new Error('loop');
  loop.cause = loop;
  expect(describeError(loop).message).toContain('loop');
  expect(describeError('text').message).toBe('text');
});
