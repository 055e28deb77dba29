import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FinishedRun, RunCrashes, type RunOrder } from '../../../src/agent/run/contracts.ts';
import { runCheckOnce } from '../../../src/agent/run-once.ts';
import { ProbePool, type ProbePoolOptions } from '../../../src/agent/runners/probe/probe-pool.ts';
import { probeWorkerEntry } from '../../../src/agent/runners/probe/probe-threads.ts';
import { ThreadAhead } from '../../../src/agent/runners/threads/thread-ahead.ts';
import { wholeReport } from '../../../src/agent/scrub/report-texts.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLogger } from '../../../src/lib/log.ts';
import type { ResultReport } from '../../../src/protocol/agent/agent.ts';
import { Target } from '../../helpers/agent/target.ts';
import { sampleOf } from '../../helpers/night.ts';

const fragileWorker = new URL('../../helpers/agent/fixtures/fragile-worker.ts', import.meta.url);
const never = new AbortController().signal;

function order(url: string, overrides: Partial<RunOrder> = {}): RunOrder {
  return {
    runId: crypto.randomUUID(),
    leaseNumber: 1,
    resultId: crypto.randomUUID(),
    checkType: 'URL',
    spec: { request: { url } },
    input: { variables: {}, secretNames: [], proxyUrl: null, clientCertificates: [] },
    receivedAtMs: systemClock.monotonicMs(),
    ...overrides,
  };
}

function reportOf(run: FinishedRun): ResultReport {
  return JSON.parse(wholeReport(run.report)) as ResultReport;
}

describe('probe threads', () => {
  const target = new Target();
  const pools: ProbePool[] = [];
  /** For tests that leave the pool as they found it. */
  let real: ProbePool;

  beforeAll(async () => {
    real = await started();
    pools.pop();
  });
  afterAll(() => real.stop());
  beforeEach(async () => await target.listen());
  afterEach(async () => {
    for (const pool of pools.splice(0)) await pool.stop();
    await target.close();
  });

  async function started(options: Partial<ProbePoolOptions> = {}): Promise<ProbePool> {
    const pool = new ProbePool({
      clock: systemClock,
      log: createLogger('test', 'silent'),
      ownSecrets: ['pl_the-key-of-the-agent'],
      serviceOffsetMs: () => 1_000_000,
      threadCount: 1,
      checkTypes: ['URL', 'API'],
      ...options,
    });
    pools.push(pool);
    await pool.start();
    return pool;
  }

  it('load the wanted check types, and no others', async () => {
    const small = await started({ checkTypes: ['URL', 'DNS', 'BROWSER'] });
    expect([...small.checkTypes].sort()).toEqual(['DNS', 'URL']);
  });

  it('that were loaded ahead of the agent are used', async () => {
    const ahead = new ThreadAhead(probeWorkerEntry, { name: 'probe', maxHeapMb: 256 });
    const pool = await started({ threadsAhead: [ahead] });
    expect(pool.checkTypes).toContain('URL');
    const { report, facts } = await pool.run(order(target.url('/')), never);
    expect([facts.verdict, wholeReport(report)]).toEqual(['passed', expect.stringContaining('responseTime')]);
    await pool.stop();
    await ahead.ended;
  });

  it('that ended before they were needed are restarted', async () => {
    const ahead = new ThreadAhead(new URL('data:text/javascript,throw new Error()'), {
      name: 'probe',
      maxHeapMb: 256,
    });
    await ahead.ended;
    const pool = await started({ threadsAhead: [ahead] });
    expect((await pool.run(order(target.url('/')), never)).facts.verdict).toBe('passed');
    expect(pool.replacedCount).toBe(0);
  });

  // Running out of memory is omitted: V8 usually ends only the thread, but not always before the process.
  it.each(sampleOf(['throw-in-thread', 'exit-thread'], 1))(
    'that die (%s) are replaced; their other runs run again, and the culprit is identified',
    async (cause) => {
      let readyThreads = 0;
      const onReady = () => {
        readyThreads += 1;
      };
      const fragile = await started({ entry: fragileWorker, maxHeapMb: 256, threadCount: 1, onReady });
      expect(fragile.isReady).toBe(true);
      const neighbours = ['/a', '/b', '/c'].map((path) => fragile.run(order(target.url(path)), never));
      const culprit = order(target.url(`/${cause}`), { checkId: 'culprit' });
      await expect(fragile.run(culprit, never)).rejects.toBeInstanceOf(RunCrashes);
      for (const { facts } of await Promise.all(neighbours)) expect(facts.verdict).toBe('passed');
      expect((await fragile.run(order(target.url('/next')), never)).facts.verdict).toBe('passed');
      // It accepts orders while it loads; it is ready once all runners are loaded.
      while (!fragile.isReady) await systemClock.sleep(20);
      expect([readyThreads, fragile.replacedCount]).toEqual([2, 1]);
      // From now on the check runs in isolation from the start.
      const again = { ...culprit, runId: crypto.randomUUID() };
      await expect(fragile.run(again, never)).rejects.toBeInstanceOf(RunCrashes);
      expect(fragile.replacedCount).toBe(1);
    },
    180_000,
  );

  it('that hang are ended, and only the hanging run has no result', async () => {
    const fragile = await started({ entry: fragileWorker, hang: { silentMs: 300, cpuMs: 1000 } });
    const neighbours = ['/a', '/b', '/c'].map((path) => fragile.run(order(target.url(path)), never));
    await expect(fragile.run(order(target.url('/hang-thread')), never)).rejects.toBeInstanceOf(RunCrashes);
    for (const { facts } of await Promise.all(neighbours)) expect(facts.verdict).toBe('passed');
  }, 300_000);

  it('do not retry runs in parallel that change something at their target', async () => {
    const fragile = await started({ entry: fragileWorker });
    const posts = ['/p1', '/p2', '/p3'].map((path) => {
      const request = { url: target.url(path), method: 'POST' };
      return fragile.run(order('', { checkType: 'API', spec: { request } }), never);
    });
    const culprit = fragile.run(order(target.url('/exit-thread')), never);
    await expect(culprit).rejects.toBeInstanceOf(RunCrashes);
    for (const { facts } of await Promise.all(posts)) expect(facts.verdict).toBe('passed');
    for (const path of ['/p1', '/p2', '/p3']) {
      expect(target.requests.filter((url) => url === path).length).toBeLessThanOrEqual(2);
    }
  }, 180_000);

  it('start the runs that they have early at their slots, unless they are taken back', async () => {
    const receivedAtMs = systemClock.monotonicMs() + 200;
    const cancelled = new AbortController();
    const early = real.run(order(target.url('/early'), { receivedAtMs }), never);
    const far = { receivedAtMs: receivedAtMs + 3_600_000 };
    const unwanted = real.run(order(target.url('/unwanted'), far), cancelled.signal);
    cancelled.abort();
    expect((await unwanted).facts).toMatchObject({ isUnstarted: true });
    const report = reportOf(await early);
    expect(report.startedAt).toBeGreaterThanOrEqual(Math.round(receivedAtMs) + 1_000_000);
    const waiting = ['/c', '/d'].map((path) => real.run(order(target.url(path), far), never));
    real.withdrawWaiting();
    for (const { facts } of await Promise.all(waiting)) expect(facts).toMatchObject({ isUnstarted: true });
    expect(target.requests.at(-1)).toBe('/early');
  });

  it('ask before they start early runs after a pause, in which leases may have been lost', async () => {
    const lost = new AbortController();
    const paused = await started({ entry: fragileWorker, onLate: () => lost.abort() });
    const early = { receivedAtMs: systemClock.monotonicMs() + 100 };
    const kept = paused.run(order(target.url('/kept'), early), never);
    const gone = paused.run(order(target.url('/gone'), early), lost.signal);
    const pause = paused.run(order(target.url('/pause-thread')), never);
    expect((await gone).facts).toMatchObject({ isUnstarted: true });
    for (const { facts } of [await kept, await pause]) expect(facts.verdict).toBe('passed');
    expect(target.requests).not.toContain('/gone');
  });

  it('end a run whose signal aborts, and report it', async () => {
    const stop = new AbortController();
    const run = real.run(order(target.url('/hold')), stop.signal);
    while (target.heldCount === 0) await systemClock.sleep(5);
    stop.abort();
    const { facts } = await run;
    expect(facts).toMatchObject({ isAborted: true, verdict: 'error' });
  });

  it('end a run at its deadline, counted from its start', async () => {
    const run = await real.run(order(target.url('/hold'), { timeoutMs: 200 }), never);
    expect(reportOf(run).failure).toMatchObject({ code: 'RESPONSE_TIMEOUT', owner: 'target' });
    expect(run.facts.durationMs).toBeGreaterThanOrEqual(199);
  });

  it('report times of the service, and how long the lease waited', async () => {
    const receivedAtMs = systemClock.monotonicMs() - 5000;
    const report = reportOf(await real.run(order(target.url(), { receivedAtMs }), never));
    expect(report.startDelayMs).toBeGreaterThanOrEqual(5000);
    expect(report.startedAt).toBeGreaterThanOrEqual(receivedAtMs + 5000 + 1_000_000 - 1);
    expect(report.stoppedAt).toBeGreaterThanOrEqual(report.startedAt);
    expect(report.agentLagMs).toBeGreaterThanOrEqual(0);
  });

  it('send nothing secret to the main thread', async () => {
    const run = await real.run(
      order(target.url('/pl_the-key-of-the-agent/letmein99'), {
        input: {
          variables: { PASS: 'letmein99', PIN: '12' },
          secretNames: ['PASS', 'PIN'],
          proxyUrl: null,
          clientCertificates: [],
        },
      }),
      never,
    );
    expect(wholeReport(run.report)).not.toMatch(/letmein99|the-key-of/);
    expect(target.requests.at(-1)).toBe('/pl_the-key-of-the-agent/letmein99');
    expect(run.facts.unmaskedNames).toEqual(['PIN']);
  });

  it('run a single check for the command line', async () => {
    const { report } = await runCheckOnce({ checkType: 'URL', spec: { request: { url: target.url() } } });
    expect(report).toMatchObject({ failure: null, detail: { response: { status: 200 } } });
  });
});
