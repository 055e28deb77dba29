import { expect, it } from 'vitest';
import { BodyMemory } from '../../../src/probes/http/body/body-memory.ts';
import { probe } from '../../helpers/targets/http-request.ts';
import { startHttpTarget } from '../../helpers/targets/http-target.ts';

const bodyBytes = 10 * 1024 * 1024;
const totalBytes = 4 * bodyBytes;

it('bodies that are read at once share one limit, and all arrive completely', async () => {
  const bytes = Buffer.alloc(bodyBytes, 'x');
  await using target = await startHttpTarget({
    routes: {
      large: (_request, reply) => {
        reply.writeHead(200);
        reply.end(bytes);
      },
    },
  });
  const memory = new BodyMemory(totalBytes, bodyBytes);
  let mostBytes = 0;
  let waited = 0;
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      const share = memory.open();
      const result = await probe(`${target.url}/large`, { bodyShare: share, timeoutMs: 60_000 });
      mostBytes = Math.max(mostBytes, memory.usedBytes);
      expect(result.error).toBeUndefined();
      expect(result.body).toMatchObject({ isTruncated: false, isOverLimit: false });
      expect(result.body.bytes.equals(bytes)).toBe(true);
      if (share.waitedMs > 0) {
        waited += 1;
        // The wire's share of the elapsed time is no longer known.
        expect(result.measurement.clock).toBe('event');
        expect(result.measurement.lagMs).toBeGreaterThanOrEqual(share.waitedMs);
      }
      share.release();
      expect(result.body.bytes.length).toBe(0);
    }),
  );
  expect(waited).toBeGreaterThan(0);
  expect(memory.usedBytes).toBe(0);
  // The first one may exceed it by its last block.
  expect(mostBytes).toBeLessThanOrEqual(totalBytes + 1024 * 1024);
});
