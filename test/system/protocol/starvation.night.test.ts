import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RunFacts, RunOrder } from '../../../src/agent/run/contracts.ts';
import { ProbePool } from '../../../src/agent/runners/probe/probe-pool.ts';
import { wholeReport } from '../../../src/agent/scrub/report-texts.ts';
import { resultFlags } from '../../../src/checks/contract/failure.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLogger } from '../../../src/lib/log.ts';
import { ResultReport } from '../../../src/protocol/agent/agent.ts';
import { Target } from '../../helpers/agent/target.ts';
import { startDnsServer } from '../../helpers/dns/dns-server.ts';
import { startFilteredTarget } from '../../helpers/targets/filtered-target.ts';

const busyWorker = new URL('../../helpers/agent/fixtures/busy-worker.ts', import.meta.url);
const never = new AbortController().signal;
/** Shorter than the thread is busy. */
const timeoutMs = 400;
/** A fifth of it is shorter than the total of the naps, and longer than a busy machine stalls a thread at a time. */
const silenceMs = 5000;

describe('a probe thread that gets no CPU time', () => {
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
      entry: busyWorker,
      checkTypes: ['URL', 'API', 'DNS', 'TCP'],
    });
    await pool.start();
  });
  afterEach(async () => {
    await pool.stop();
    target.releaseAll();
    await target.close();
    target.requests.length = 0;
  });

  async function run(
    path: string,
    overrides: Partial<RunOrder> & { readonly fields?: Readonly<Record<string, unknown>> } = {},
  ): Promise<{ report: ResultReport; facts: RunFacts }> {
    const { fields, ...rest } = overrides;
    const finished = await pool.run(
      {
        runId: crypto.randomUUID(),
        leaseNumber: 1,
        resultId: crypto.randomUUID(),
        checkType: 'URL',
        spec: { request: { url: target.url(path) }, ...fields },
        input: { variables: {}, secretNames: [], proxyUrl: null, clientCertificates: [] },
        receivedAtMs: systemClock.monotonicMs(),
        ...rest,
      },
      never,
    );
    const json = wholeReport(finished.report);
    return { report: ResultReport.parse(JSON.parse(json)), facts: finished.facts };
  }

  const logOf = ({ detail }: ResultReport) => JSON.stringify((detail as { jobLog: unknown }).jobLog);

  it('repeats a run that only the agent was late for, and reports that result', async () => {
    const { report, facts } = await run('/busy-once', { timeoutMs });
    expect(report.failure).toBeNull();
    expect(facts.spoilt).toBe('recovered');
    expect(logOf(report)).toMatch(/The agent itself was \d+ ms late\. The run is repeated/);
    // The time of the first attempt does not count for the second.
    expect(report.responseTimeMs).toBeLessThan(report.startDelayMs);
    expect(report.startDelayMs).toBeGreaterThan(timeoutMs);
  });

  it('blames itself if it was late again', async () => {
    const { report, facts } = await run('/hold/busy-often', { timeoutMs });
    expect(report.failure).toMatchObject({ code: 'AGENT_STARVED', owner: 'agent' });
    expect(resultFlags(report.failure ?? undefined)).toEqual({ hasErrors: true, hasFailures: false });
    expect(report.agentLagMs).toBeGreaterThan(timeoutMs);
    expect(facts).toMatchObject({ spoilt: 'starved', verdict: 'error' });
    expect(logOf(report).match(/is repeated/g)).toHaveLength(1);
  });

  it('blames a target that was silent for the whole limit, if the thread was often away but never long', async () => {
    const { report, facts } = await run('/hold/busy-naps', { timeoutMs: silenceMs });
    expect(report.failure).toMatchObject({ code: 'RESPONSE_TIMEOUT', owner: 'target' });
    expect(facts.spoilt).toBeUndefined();
    expect(target.requests).toEqual(['/hold/busy-naps']);
  });

  it.each(['UDP', 'TCP'])('blames a name server that is silent over %s the same way', async (protocol) => {
    await using server = await startDnsServer(() => []);
    const request = {
      query: 'busy-naps.test',
      recordType: 'A',
      nameServer: server.address,
      port: server.port,
      protocol,
    };
    const { report, facts } = await run('', { checkType: 'DNS', spec: { request }, timeoutMs: silenceMs });
    expect(report.failure).toMatchObject({ code: 'DNS_NO_ANSWER', owner: 'target' });
    expect(facts.spoilt).toBeUndefined();
  });

  it('blames a port that drops every packet the same way', async () => {
    await using filtered = await startFilteredTarget();
    const request = { hostname: filtered.host, port: filtered.port, data: 'busy-naps' };
    const { report, facts } = await run('', { checkType: 'TCP', spec: { request }, timeoutMs: silenceMs });
    expect(report.failure).toMatchObject({ code: 'CONNECTION_TIMEOUT', owner: 'target' });
    expect(facts.spoilt).toBeUndefined();
  });

  it.each([
    ['degradedResponseTime', { degradedResponseTime: 300, maxResponseTime: null }],
    ['maxResponseTime', { degradedResponseTime: null, maxResponseTime: 300 }],
  ])('blames no target for its own delays (%s)', async (_limit, fields) => {
    const { report } = await run('/busy-once', { fields });
    expect(report).toMatchObject({ failure: null, isDegraded: false, overMaxResponseTime: false });
  });

  it('repeats no requests with side effects', async () => {
    const request = { method: 'POST', url: target.url('/busy-once'), bodyType: 'RAW', body: 'x' };
    const { report } = await run('', { checkType: 'API', spec: { request }, timeoutMs });
    expect(report.failure).toMatchObject({ code: 'AGENT_STARVED', owner: 'agent' });
    expect(logOf(report)).not.toContain('is repeated');
    expect(target.requests.length).toBeLessThanOrEqual(1);
  });

  it('still fails and degrades a target that is slow itself', async () => {
    let hung = await run('/hold', { timeoutMs });
    // On a busy host a thread is sometimes late by itself, but not every time.
    while (hung.facts.spoilt !== undefined) {
      target.requests.length = 0;
      hung = await run('/hold', { timeoutMs });
    }
    expect(hung.report.failure).toMatchObject({ code: 'RESPONSE_TIMEOUT', owner: 'target' });
    expect(target.requests).toEqual(['/hold']);
    target.releaseAll();
    const slow = run('/hold/slow', { fields: { degradedResponseTime: 100, maxResponseTime: null } });
    while (target.heldCount === 0) await systemClock.sleep(5);
    await systemClock.sleep(300);
    target.releaseAll();
    expect((await slow).report).toMatchObject({ failure: null, isDegraded: true });
    expect(target.requests).toContain('/hold/slow');
  });
});
