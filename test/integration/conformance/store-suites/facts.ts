import { expect, it } from 'vitest';
import { failure } from '../../../../src/checks/contract/failure.ts';
import type { ResultReport } from '../../../../src/protocol/agent/agent.ts';
import { Analyst } from '../../../../src/service/analyses/analyst.ts';
import { createCheck, quietLogger, reportOf } from '../../../helpers/service/service.ts';
import type { StoreStage } from './stage.ts';

const dayMs = 86_400_000;
const down = failure('CONNECTION_REFUSED', 'connect ECONNREFUSED');

/**
 * Facts that agents report in addition to verdicts: facts of failures, certificates, doubtful times, and capabilities.
 */
export function factSuite(stage: StoreStage): void {
  async function startWithCheck(): Promise<string> {
    await stage.start();
    const fields = { privateLocations: ['lab'], retryStrategy: null, doubleCheck: false };
    return (await createCheck(stage.harness, fields)).id;
  }

  async function report(checkId: string, fields: Partial<ResultReport>): Promise<void> {
    await stage.queueNextSlot(checkId);
    // If the clock has just jumped, the first queued run may be for a skipped slot.
    const run = await stage.advanceUntil('a run is leased', async () => (await stage.agent.claim())[0]);
    expect(await stage.agent.report([reportOf(run, fields)])).toEqual(['accepted']);
  }

  async function daysRemaining(checkId: string): Promise<number | null> {
    const one = await stage.harness.call('GET', `/v1/check-statuses/${checkId}`);
    const all = await stage.harness.call('GET', '/v1/check-statuses');
    // Slots of a skipped day may be recorded between the two requests.
    expect(all.body).toEqual([{ ...one.body, coverage: expect.anything() }]);
    return one.body.sslDaysRemaining;
  }

  it('stores the facts of a failure, and finds its cause by them, whatever the wording of its message', async () => {
    const checkId = await startWithCheck();
    const details = {
      ...{ proxy: '10.0.0.9:3128', proxyStatus: 502, proxyStatusText: 'Bad Gateway' },
      ...{ host: 'shop.test', port: 443 },
    };
    await report(checkId, {
      failure: failure('HOST_UNREACHABLE', 'reworded', details),
      errorMessages: ['reworded'],
    });
    const [result] = (await stage.harness.call('GET', `/v1/check-results/${checkId}`)).body;
    expect(result.failure).toMatchObject({ code: 'HOST_UNREACHABLE', message: 'reworded', details });
    const { store } = stage.harness;
    const metrics = { countAnalysis: () => undefined };
    await new Analyst({ ...{ store, metrics }, clock: stage.clock, logger: quietLogger }).turn();
    const group = await stage.harness.call('GET', `/v1/error-groups/${result.errorGroupIds[0]}`);
    const [analysis] = group.body.rootCauseAnalyses;
    expect(analysis.analysis.rootCause).toContain(
      'The proxy 10.0.0.9:3128 cannot connect to shop.test:443: it responded with 502 Bad Gateway.',
    );
  });

  it('reads the facts of an older agent from its message, and accepts a result with unknown facts', async () => {
    const checkId = await startWithCheck();
    const factsOf = async (failed: object) => {
      await report(checkId, { failure: failed as typeof down });
      const [result] = (await stage.harness.call('GET', `/v1/check-results/${checkId}`)).body;
      return result.failure.details;
    };
    const refused = failure('CONNECTION_REFUSED', 'connect ECONNREFUSED 10.0.0.5:8443');
    const inMessage = { address: '10.0.0.5', port: 8443 };
    expect(await factsOf(refused)).toEqual(inMessage);
    expect(await factsOf({ ...refused, details: {} })).toEqual({});
    expect(await factsOf({ ...refused, details: { port: 'a newer kind of port' } })).toEqual(inMessage);
    expect(await factsOf({ ...refused, details: { port: 8443, ofANewerAgent: true } })).toEqual({
      port: 8443,
    });
  });

  it.each([
    [30 * dayMs, 30],
    [dayMs, 1],
    [dayMs - 1, 0],
    [0, 0],
    [-1, -1],
    [-dayMs, -1],
    [-dayMs - 1, -2],
  ])('counts the days of a certificate that expires in %i ms', async (inMs, days) => {
    const checkId = await startWithCheck();
    await report(checkId, {});
    expect(await daysRemaining(checkId)).toBeNull();
    await stage.queueNextSlot(checkId);
    const [run] = await stage.agent.claim();
    if (!run) throw new Error('nothing was leased');
    const certificateExpiresAt = stage.clock.wallMs() + inMs;
    await stage.agent.report([reportOf(run, { certificateExpiresAt })]);
    // The stage may have advanced its clock while it waited for the slot, but not since.
    expect(await daysRemaining(checkId)).toBe(days);
  });

  it('keeps the facts of a certificate until a run passes without one', async () => {
    const checkId = await startWithCheck();
    await report(checkId, { certificateExpiresAt: stage.clock.wallMs() + 10.5 * dayMs });
    expect(await daysRemaining(checkId)).toBe(10);
    await report(checkId, { failure: down });
    expect(await daysRemaining(checkId)).toBe(10);
    await report(checkId, { failure: failure('AGENT_OUT_OF_RESOURCES', 'EMFILE') });
    expect(await daysRemaining(checkId)).toBe(10);
    stage.clock.advance(dayMs);
    expect(await daysRemaining(checkId)).toBe(9);
    const expired = failure('TLS_CERTIFICATE_INVALID', 'expired');
    await report(checkId, { failure: expired, certificateExpiresAt: stage.clock.wallMs() - 3.5 * dayMs });
    expect(await daysRemaining(checkId)).toBe(-4);
    await report(checkId, {});
    expect(await daysRemaining(checkId)).toBeNull();
  });

  it('lets no older slot change the facts of a certificate', async () => {
    const checkId = await startWithCheck();
    await stage.queueNextSlot(checkId);
    const [older] = await stage.agent.claim();
    await report(checkId, { certificateExpiresAt: stage.clock.wallMs() + 20.5 * dayMs });
    if (!older) throw new Error('nothing was leased');
    await stage.agent.report([reportOf(older, { certificateExpiresAt: stage.clock.wallMs() })]);
    expect(await daysRemaining(checkId)).toBe(20);
  });

  it('shows the agent overhead of a result, and doubt about its times', async () => {
    const checkId = await startWithCheck();
    const hostStartedAt = Date.UTC(1999, 11, 31);
    await report(checkId, { agentLagMs: 12.5, agentOverheadMs: 0.75, isTimingDoubtful: true, hostStartedAt });
    const { body } = await stage.harness.call('GET', `/v1/check-results/${checkId}`);
    expect(body[0]).toMatchObject({
      agentLagMs: 12.5,
      agentOverheadMs: 0.75,
      isTimingDoubtful: true,
      hostStartedAt: '1999-12-31T00:00:00.000Z',
    });
    expect(body[0].startedAt).not.toContain('1999');
  });

  it('accepts reports and claims of agents without these facts', async () => {
    const checkId = await startWithCheck();
    await stage.queueNextSlot(checkId);
    const [run] = await stage.agent.claim();
    if (!run) throw new Error('nothing was leased');
    const { agentOverheadMs, isTimingDoubtful, certificateExpiresAt, hostStartedAt, ...old } = reportOf(run);
    expect(await stage.agent.report([old])).toEqual(['accepted']);
    const { body } = await stage.harness.call('GET', `/v1/check-results/${checkId}`);
    expect(body[0]).toMatchObject({ agentOverheadMs: 0, isTimingDoubtful: false, hostStartedAt: null });
  });

  it('shows how check types work on an agent, and why others do not', async () => {
    await stage.start();
    const shown = async () => {
      const { body } = await stage.harness.call('GET', `/v1/private-locations/${stage.location.id}`);
      return body.runningAgents[0].agents;
    };
    await stage.agent.claim();
    expect(await shown()).toMatchObject([
      { id: 'agent-1', backends: {}, unavailable: {}, droppedResults: 0 },
    ]);
    const facts = {
      backends: { ICMP: 'ICMP datagram sockets' },
      unavailable: { BROWSER: 'no browser is installed' },
      droppedResults: 3,
      browsers: [{ name: 'webkit', version: '2182' }],
    };
    // Changes are stored at once, however recently the agent was seen.
    await stage.agent.claim(facts);
    expect(await shown()).toMatchObject([{ id: 'agent-1', ...facts }]);
  });
}
