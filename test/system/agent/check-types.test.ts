import { readdir } from 'node:fs/promises';
import { expect, it } from 'vitest';
import type { RunOrder } from '../../../src/agent/run/contracts.ts';
import { ScriptPool } from '../../../src/agent/runners/script/script-pool.ts';
import { ThreadEnded } from '../../../src/agent/runners/threads/runner-thread.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLogger } from '../../../src/lib/log.ts';
import { readRuntimes } from '../../../src/sandbox/runtimes/runtimes.ts';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { Stage } from '../../helpers/agent/stage.ts';
import { runtimesDirectory } from '../../helpers/scripts/script-stage.ts';

/** Number of threads of this process. */
const threadCount = async () => (await readdir('/proc/self/task')).length;

it('starts nothing for scripts if no offered check type uses them', async () => {
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

it('reports the reason when a script thread dies while it opens them', async () => {
  const pool = new ScriptPool({
    clock: systemClock,
    log: createLogger('test', 'silent'),
    ownSecrets: [],
    checkTypes: ['MULTI_STEP'],
    serviceOffsetMs: () => 0,
    scripts: () => ({}) as never,
    entry: new URL('data:text/javascript,process.exit(3)'),
  });
  expect(await pool.start()).toMatchObject({ loaded: [] });
  const run = pool.run({ checkType: 'MULTI_STEP' } as RunOrder, new AbortController().signal);
  await expect(run).rejects.toThrow(ThreadEnded);
  await expect(run).rejects.toThrow('code 3');
  await pool.stop();
});

it('waits for scripts if nothing else is offered', async (context) => {
  const { ids } = await readRuntimes(runtimesDirectory);
  if (ids.length === 0) context.skip('no runtime is installed: npm run runtimes:install');
  await using stage = await Stage.open();
  stage.startAgent({
    CHECK_TYPES: 'MULTI_STEP',
    RUNTIMES_DIR: runtimesDirectory,
    // This test also runs where scripts cannot be isolated: the script is its own.
    ALLOW_UNISOLATED_SCRIPTS: 'true',
  });
  const check = { id: 'a', name: 'a', checkType: 'MULTI_STEP', spec: { script: 'console.log(1 + 1);' } };
  const run = leasedRun('', { check });
  stage.service.enqueue(run);
  const result = await stage.service.waitFor('the result', () => stage.service.resultOf(run.runId), 90_000);
  expect(result.failure).toBeNull();
}, 120_000);
