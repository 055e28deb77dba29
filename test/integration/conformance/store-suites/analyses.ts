import { expect, it } from 'vitest';
import { failure } from '../../../../src/checks/contract/failure.ts';
import { Analyst, secondLookMs } from '../../../../src/service/analyses/analyst.ts';
import {
  createCheck,
  createLocation,
  quietLogger,
  reportOf,
  TestAgent,
} from '../../../helpers/service/service.ts';
import type { StoreStage } from './stage.ts';

/** Root cause analyses: automatic, on request, limited, judged by users, and deleted with their group. */
export function analysisSuite(stage: StoreStage): void {
  const counted: string[] = [];
  const analyst = () =>
    new Analyst({
      ...{ store: stage.harness.store, clock: stage.clock, logger: quietLogger },
      metrics: { countAnalysis: (_account, certainty) => void counted.push(certainty) },
    });
  const refused = failure('CONNECTION_REFUSED', 'connect ECONNREFUSED 10.0.0.5:8443');
  const create = (fields: object = {}) =>
    createCheck(stage.harness, {
      ...{ privateLocations: ['lab'], doubleCheck: false, retryStrategy: null },
      ...fields,
    });
  const run = async (checkId: string, failed?: typeof refused) => {
    await stage.queueNextSlot(checkId);
    const leased = (await stage.agent.claim()).find(({ check }) => check.id === checkId);
    if (!leased) throw new Error('nothing was leased');
    const fields = failed ? { failure: failed, errorMessages: [failed.message] } : {};
    expect(await stage.agent.report([reportOf(leased, fields)])).toEqual(['accepted']);
    const result = await stage.harness.call('GET', `/v1/check-results/${checkId}/${leased.resultId}`);
    return result.body as { errorGroupIds: string[] };
  };
  const call = (...[method, path, body]: Parameters<typeof stage.harness.call>) =>
    stage.harness.call(method, path, body);
  const analysesOf = async (groupId: string | undefined) =>
    (await call('GET', `/v1/error-groups/${groupId}`)).body.rootCauseAnalyses;

  it('analyses each new error once, and once more when more evidence exists', async () => {
    await stage.start();
    counted.length = 0;
    const check = await create();
    await run(check.id);
    const [groupId] = (await run(check.id, refused)).errorGroupIds;
    expect(await analysesOf(groupId)).toEqual([]);
    await analyst().turn();
    const [analysis, ...others] = await analysesOf(groupId);
    expect(others).toEqual([]);
    expect(analysis).toMatchObject({
      ...{ provider: 'picket', model: 'rules', userContext: null, verdict: null },
      analysis: { classification: 'INFRASTRUCTURE_ERROR', certainty: 'CERTAIN', referenceLinks: null },
    });
    expect(analysis.analysis.rootCause).toContain('10.0.0.5:8443 refuses connections');
    expect(analysis.analysis.evidence[0].artifacts).toContainEqual({ name: 'ERROR', type: 'LOG' });
    await run(check.id, refused);
    const due = stage.clock.wallMs() + secondLookMs;
    expect(await analyst().turn()).toBeLessThanOrEqual(due);
    // A change between the last pass and the first failure is also found by the second look.
    stage.clock.advance(secondLookMs);
    expect(await analyst().turn()).toBeNull();
    expect((await analysesOf(groupId)).map(({ id }: { id: string }) => id)).toEqual([analysis.id]);
    expect(counted).toEqual(['CERTAIN']);
  });

  it('analyses again on request, keeps the note of the request, and verdicts of people', async () => {
    await stage.start();
    const check = await create();
    const [groupId] = (await run(check.id, refused)).errorGroupIds;
    const path = `/v1/root-cause-analyses/error-groups/${groupId}`;
    const asked = await call('POST', path, { userContext: 'after the move' });
    expect([asked.status, asked.body.status]).toEqual([202, 'PENDING']);
    const own = `/v1/root-cause-analyses/${asked.body.id}`;
    const pending = await call('GET', own);
    expect([pending.status, pending.body]).toEqual([202, asked.body]);
    expect((await call('PATCH', own, { verdict: 'RIGHT' })).status).toBe(404);
    await analyst().turn();
    const done = await call('GET', own);
    expect([done.status, done.body.status]).toEqual([200, 'COMPLETED']);
    expect(done.body.userContext).toEqual([{ text: 'after the move', type: 'TEXT' }]);
    expect((await analysesOf(groupId)).length).toBe(2);
    const judged = await call('PATCH', own, { verdict: 'WRONG' });
    expect([judged.status, judged.body.verdict]).toEqual([200, 'WRONG']);
    const metrics = await stage.harness.store.analyses.countVerdicts(stage.harness.accountId);
    expect(metrics).toEqual([{ account: stage.harness.accountId, verdict: 'WRONG', count: 1 }]);
    // Analyses that users have judged stay unchanged.
    const automatic = (await analysesOf(groupId)).find(({ id }: { id: string }) => id !== asked.body.id);
    await call('PATCH', `/v1/root-cause-analyses/${automatic.id}`, { verdict: 'RIGHT' });
    stage.clock.advance(secondLookMs);
    expect(await analyst().turn()).toBeNull();
    const kept = await call('GET', `/v1/root-cause-analyses/${automatic.id}`);
    expect(kept.body.analysis).toEqual(automatic.analysis);
    expect((await call('POST', path, { userContext: 'x'.repeat(257) })).status).toBe(400);
    const stranger = await stage.harness.addAccount();
    const foreign = await stage.harness.call('GET', own, undefined, { key: stranger.key });
    expect(foreign.status).toBe(404);
    expect((await call('DELETE', `/v1/checks/${check.id}`)).status).toBe(204);
    expect((await call('GET', own)).status).toBe(404);
    expect(await stage.harness.store.analyses.nextDueAt()).toBeNull();
  });

  it('serves accounts in turn, and refuses more than may wait', async () => {
    await stage.start();
    const check = await create();
    const [groupId] = (await run(check.id, refused)).errorGroupIds;
    const path = `/v1/root-cause-analyses/error-groups/${groupId}`;
    const answers: number[] = [];
    for (let count = 0; count < 100; count += 1) answers.push((await call('POST', path)).status);
    expect([answers[98], answers[99]]).toEqual([202, 429]);
    const other = await stage.harness.addAccount();
    const group = await stage.harness.store.errorGroups.insert({
      ...{ id: 'other-group', account_id: other.accountId, kind: 'check', owner_id: 'x', error_hash: 'h' },
      ...{ raw_message: 'm', cleaned_message: 'm', first_seen: 1, last_seen: 1, count: 1, is_archived: 0 },
      ...{ is_archived_for_ever: 0, environments: '[]', tests: null },
    });
    const asked = { accountId: other.accountId, groupId: group.id, groupKind: 'check' as const };
    const later = stage.clock.wallMs() + 1;
    await stage.harness.store.analyses.ask(
      [{ id: 'other-analysis', ...asked, isAutomatic: true, userContext: null }],
      later,
    );
    const first = await stage.harness.store.analyses.due(later, 3);
    expect(first.map((row) => row.account_id)).toContain(other.accountId);
  });

  it('distinguishes a change of the check, and a location, from a target that fails by itself', async () => {
    await stage.start();
    const second = await createLocation(stage.harness, 'second');
    const far = new TestAgent(stage.harness, second, 'agent-2');
    const check = await create({ privateLocations: ['lab', 'second'], runParallel: true });
    const both = async (here?: typeof refused) => {
      await stage.queueNextSlot(check.id, 2);
      const [own] = await stage.agent.claim();
      const [other] = await far.claim();
      if (!own || !other) throw new Error('nothing was leased');
      await far.report([reportOf(other)]);
      await stage.agent.report([reportOf(own, here ? { failure: here, errorMessages: [here.message] } : {})]);
      return (await call('GET', `/v1/check-results/${check.id}/${own.resultId}`)).body;
    };
    await both();
    const timedOut = failure('CONNECTION_TIMEOUT', 'timed out after 5000 ms while connecting (10.0.0.5:80)');
    const [groupId] = (await both(timedOut)).errorGroupIds;
    await analyst().turn();
    const [analysis] = await analysesOf(groupId);
    expect(analysis.analysis.certainty).toBe('LIKELY');
    expect(analysis.analysis.rootCause).toContain('fails at lab and passes at second');
  });

  it('shows the known facts about groups of test sessions, too', async () => {
    await stage.start();
    const check = await create();
    const session = await call('POST', '/v1/test-sessions/trigger', {
      ...{ name: 'trial', runLocation: 'lab', target: { checkId: [check.id] } },
    });
    expect(session.status).toBe(201);
    const [leased] = await stage.agent.claim();
    if (!leased) throw new Error('nothing was leased');
    await stage.agent.report([reportOf(leased, { failure: refused, errorMessages: [refused.message] })]);
    await analyst().turn();
    const [group] = (await call('GET', '/v1/test-session-error-groups')).body;
    expect(group.rootCauseAnalyses[0].analysis.rootCause).toContain('refuses connections');
    const asked = await call('POST', `/v1/root-cause-analyses/test-session-error-groups/${group.id}`);
    expect(asked.status).toBe(202);
  });
}
