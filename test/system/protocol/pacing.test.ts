import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FinishedRun, RunOrder } from '../../../src/agent/run/contracts.ts';
import { ProbePool } from '../../../src/agent/runners/probe/probe-pool.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLogger } from '../../../src/lib/log.ts';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { Stage } from '../../helpers/agent/stage.ts';
import { Target } from '../../helpers/agent/target.ts';

const never = new AbortController().signal;

describe('a probe thread that receives many runs at once', () => {
  const target = new Target();
  let pool: ProbePool;

  beforeEach(async () => {
    await target.listen();
    pool = new ProbePool({
      clock: systemClock,
      log: createLogger('test', 'silent'),
      ownSecrets: [],
      serviceOffsetMs: () => 0,
      threadCount: 1,
    });
    await pool.start();
  });
  afterEach(async () => {
    await pool.stop();
    await target.close();
  });

  const order = (path: string): RunOrder => ({
    runId: crypto.randomUUID(),
    leaseNumber: 1,
    resultId: crypto.randomUUID(),
    checkType: 'URL',
    spec: { request: { url: target.url(path) } },
    input: { variables: {}, secretNames: [], proxyUrl: null, clientCertificates: [] },
    receivedAtMs: systemClock.monotonicMs(),
  });

  it('starts them one after the other, and all of them', async () => {
    const runs = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        pool.run(order(`/hold/${index}`.replace('hold/', '')), never),
      ),
    );
    expect(runs.every(({ facts }) => facts.verdict === 'passed')).toBe(true);
    const starts = runs.map(({ facts }) => facts.startedAtMs).sort((left, right) => left - right);
    // At the minimum cost that can be learnt, a hundred starts take 5 ms.
    expect((starts.at(-1) ?? 0) - (starts[0] ?? 0)).toBeGreaterThan(3);
    expect(pool.gateState).toEqual({ waiting: 0, oldestWaitMs: 0 });
  });

  it('shows waiting runs, stops them while they wait, and releases them on request', async () => {
    const stop = new AbortController();
    const finished: FinishedRun[] = [];
    const runs = Array.from({ length: 300 }, (_, index) =>
      pool
        .run(order(`/hold/${index}`), index === 299 ? stop.signal : never)
        .then((run) => finished.push(run)),
    );
    while (target.heldCount === 0) await systemClock.sleep(1);
    expect(pool.gateState.waiting).toBeGreaterThan(0);
    stop.abort();
    while (finished.length === 0) await systemClock.sleep(1);
    expect(finished[0]?.facts).toMatchObject({ isAborted: true, isUnstarted: true });
    pool.withdrawWaiting();
    while (pool.gateState.waiting > 0) await systemClock.sleep(1);
    const unstarted = 300 - target.requests.filter((path) => path.startsWith('/hold')).length;
    expect(unstarted).toBeGreaterThan(1);
    while (target.heldCount > 0 || finished.length < 300) {
      target.releaseAll();
      await systemClock.sleep(5);
    }
    await Promise.all(runs);
    expect(finished.filter(({ facts }) => facts.isUnstarted === true).length).toBeGreaterThan(1);
    expect(finished.filter(({ facts }) => facts.verdict === 'passed').length).toBeGreaterThan(0);
  });
});

it('an agent that drains releases the runs in its gates', async () => {
  await using stage = await Stage.open();
  const { service, target } = stage;
  const agent = await stage.connectedAgent({ PROBE_CONCURRENCY: '500' });
  const runs = Array.from({ length: 500 }, (_, index) => leasedRun(target.url(`/hold/${index}`)));
  service.enqueue(...runs);
  await service.waitFor('the first run', () => target.heldCount > 0);
  agent.signal('SIGTERM');
  await service.waitFor('leases given back', () => service.released.length > 0);
  const release = setInterval(() => target.releaseAll(), 20);
  const ending = await agent.exited;
  clearInterval(release);
  expect(ending).toEqual({ code: 0, signal: null });
  expect(service.leases.size).toBe(0);
  expect(service.released.length + service.results.length).toBe(500);
  expect(service.results.every(({ failure }) => failure === null)).toBe(true);
  expect(service.callsOf('release').length).toBeLessThan(10);
});
