import { readdir } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { ScriptPool } from '../../src/agent/script-pool.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createLogger } from '../../src/lib/log.ts';

/** Threads of this process. */
const threadCount = async () => (await readdir('/proc/self/task')).length;

it('starts nothing for scripts where no check type that has any is offered', async () => {
  const pool = new ScriptPool({
    clock: systemClock,
    log: createLogger('test', 'silent'),
    ownSecrets: [],
    checkTypes: ['URL', 'ICMP'],
    serviceOffsetMs: () => 0,
    scripts: () => {
      throw new Error('nobody asks for sandboxes');
    },
  });
  const before = await threadCount();
  expect(pool.isSettled).toBe(true);
  expect(await pool.start()).toMatchObject({ loaded: [] });
  expect(pool.isReady).toBe(false);
  expect(await threadCount()).toBe(before);
  await pool.stop();
});
