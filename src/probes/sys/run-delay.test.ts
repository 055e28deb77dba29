import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { openRunDelay } from './run-delay.ts';

const path = '/proc/thread-self/schedstat';

it.runIf(process.platform === 'linux')("a reading equals the file's content", () => {
  const read = openRunDelay();
  const fields = () => {
    const [, delayNs, turns] = readFileSync(path, 'latin1').trim().split(' ').map(Number);
    return { waitedMs: (delayNs ?? 0) / 1e6, turnCount: turns ?? 0 };
  };
  // The thread may be interrupted at any time, so that the counts increase in between.
  const before = fields();
  const reading = read?.();
  const after = fields();
  expect(reading?.turnCount).toBeGreaterThanOrEqual(before.turnCount);
  expect(reading?.turnCount).toBeLessThanOrEqual(after.turnCount);
  expect(reading?.waitedMs).toBeGreaterThanOrEqual(before.waitedMs);
  expect(reading?.waitedMs).toBeLessThanOrEqual(after.waitedMs);
});
