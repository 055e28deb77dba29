import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { failure } from '../../../../src/checks/contract/failure.ts';
import type { LeasedRun } from '../../../../src/protocol/agent/agent.ts';
import { createCheck, createLocation, reportOf } from '../../../helpers/service/service.ts';
import type { StoreStage } from './stage.ts';

const down = failure('CONNECTION_REFUSED', 'connect ECONNREFUSED 10.0.0.5:80');
const failing = { failure: down, errorMessages: [down.message] };

/** On-demand runs: check sessions, test sessions and triggers, through the ledger like other runs. */
export function sessionSuite(stage: StoreStage): void {
  const create = (fields: object = {}) =>
    createCheck(stage.harness, { privateLocations: ['lab'], doubleCheck: false, ...fields });
  const call = (method: string, path: string, body?: unknown) =>
    stage.harness.call(method, `/v1/${path}`, body);
  const trigger = async (target?: object) => {
    const answer = await call('POST', 'check-sessions/trigger', { target });
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    return answer.body.sessions as { checkSessionId: string; checkId: string; status: string }[];
  };
  const test = async (fields: object = {}) => {
    const answer = await call('POST', 'test-sessions/trigger', {
      name: 'try',
      runLocation: 'lab',
      ...fields,
    });
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    return answer.body as { testSessionId: string; results: { resultType: string }[] };
  };
  const only = (runs: LeasedRun[]): LeasedRun => {
    const [run, ...others] = runs;
    if (!run || others.length > 0) throw new Error(`${runs.length} runs were leased`);
    return run;
  };

  it('runs a check now, through the ledger, and reports its progress', async () => {
    await stage.start();
    const check = await create();
    const [session] = await trigger({ checkId: check.id });
    expect(session).toMatchObject({
      checkId: check.id,
      status: 'STARTED',
      runLocations: ['lab'],
      runSource: 'TRIGGER_API',
      stoppedAt: null,
    });
    const path = `check-sessions/${session?.checkSessionId}`;
    const run = only(await stage.agent.claim());
    expect(run).toMatchObject({ check: { id: check.id }, isTestSession: false });
    expect((await call('GET', path)).body.status).toBe('PROGRESS');
    stage.clock.advance(1500);
    const waiting = call('GET', `${path}/completion?maxWaitSeconds=30`);
    await stage.agent.report([reportOf(run, failing)]);
    const ended = await stage.advanceUntil('the wait is over', async () =>
      Promise.race([waiting, new Promise<false>((resolve) => setTimeout(() => resolve(false), 1))]),
    );
    expect(ended.status).toBe(200);
    expect(ended.body).toMatchObject({ status: 'FAILED', timeElapsed: 1500 });
    expect(ended.body.results).toEqual([
      expect.objectContaining({ checkResultId: run.resultId, hasFailures: true, resultType: 'FINAL' }),
    ]);
    // It counts like any other run.
    expect((await call('GET', `check-results/${check.id}`)).body).toHaveLength(1);
    expect((await call('GET', `check-statuses/${check.id}`)).body.hasFailures).toBe(true);
  });

  it('answers 408 while a session lasts, and TIMED_OUT if no agent claims it', async () => {
    await stage.start();
    stage.harness.startLeaseSweep();
    const check = await create();
    const [session] = await trigger({ checkId: [check.id] });
    const path = `check-sessions/${session?.checkSessionId}`;
    const waiting = call('GET', `${path}/completion?maxWaitSeconds=2`);
    const answer = await stage.advanceUntil('the wait is over', async () =>
      Promise.race([waiting, new Promise<false>((resolve) => setTimeout(() => resolve(false), 1))]),
    );
    expect(answer.status).toBe(408);
    expect(answer.headers['retry-after']).toBe('1');
    expect(answer.body).toMatchObject({ statusCode: 408, error: 'Request Time-out' });
    stage.clock.advance(6 * 60_000);
    const ended = await stage.advanceUntil('it is over', async () => {
      stage.clock.advance(1000);
      const { body } = await call('GET', path);
      return body.status === 'TIMED_OUT' && body;
    });
    expect(ended.results).toEqual([expect.objectContaining({ checkResultId: null, aborted: true })]);
    expect(await stage.harness.store.runs.countSlots(check.id)).toEqual({ missed: 1 });
  });

  it('gives every on-demand run a separate slot, even if several are requested in one millisecond', async () => {
    await stage.start();
    const check = await create();
    const found = await stage.harness.store.checks.find(stage.harness.accountId, check.id);
    stage.clock.advance((found?.slots.nextSlotAt ?? 0) - stage.clock.wallMs());
    // Its last claim may be too old by now.
    await stage.agent.claim();
    await Promise.all(Array.from({ length: 5 }, () => trigger({ checkId: check.id })));
    stage.harness.startScheduler();
    await stage.advanceUntil(
      'the slot of the schedule',
      async () => (await stage.runsOf(check.id)).length === 6,
    );
    const runs = await stage.runsOf(check.id);
    expect(new Set(runs.map(({ slot_at: slotAt }) => slotAt)).size).toBe(6);
    expect(runs.find((run) => run.check_session_id === null)?.slot_at).toBe(found?.slots.nextSlotAt);
    const leased = await stage.agent.claim();
    expect(leased).toHaveLength(6);
    await stage.agent.report(leased.map((run) => reportOf(run)));
    expect(await stage.harness.store.runs.countSlots(check.id)).toEqual({ final: 6 });
  });

  it('finds checks by tags, and runs parallel ones everywhere', async () => {
    await stage.start();
    await createLocation(stage.harness, 'b');
    const names = async (target?: object) =>
      (await trigger(target)).map((session) => (session as { name?: string }).name).sort();
    await create({ name: 'shop', tags: ['prod', 'shop'] });
    await create({ name: 'blog', tags: ['prod'] });
    await create({ name: 'both', tags: ['dev'], runParallel: true, privateLocations: ['lab', 'b'] });
    await create({ name: 'off', tags: ['prod'], activated: false });
    await create({ name: 'nowhere', tags: ['prod'], privateLocations: [] });
    await call('POST', 'checks/heartbeat', {
      name: 'heartbeat',
      tags: ['prod'],
      heartbeat: { period: 1, periodUnit: 'hours', grace: 1, graceUnit: 'hours' },
    });
    expect(await names()).toEqual(['blog', 'both', 'shop']);
    expect(await names({ matchTags: [['prod', '!shop'], ['dev']] })).toEqual(['blog', 'both']);
    const [both] = await trigger({ matchTags: [['dev']] });
    expect((both as unknown as { runLocations: string[] }).runLocations.sort()).toEqual(['b', 'lab']);
    const none = await call('POST', 'check-sessions/trigger', { target: { matchTags: [['none']] } });
    expect(none.body).toEqual({
      statusCode: 404,
      error: 'Not Found',
      message: 'No matching checks were found.',
    });
    expect((await call('POST', 'check-sessions/trigger', { target: { checkId: randomUUID() } })).status).toBe(
      404,
    );
  });

  it('cancels the pending runs of a session, and agents stop them', async () => {
    await stage.start();
    const check = await create();
    const [session] = await trigger({ checkId: check.id });
    const path = `check-sessions/${session?.checkSessionId}`;
    const run = only(await stage.agent.claim());
    expect((await call('POST', `${path}/cancel`, { sequenceId: [randomUUID()] })).status).toBe(204);
    expect((await call('GET', path)).body.status).toBe('PROGRESS');
    expect((await call('POST', `${path}/cancel`)).status).toBe(204);
    expect(await stage.agent.renew([run])).toMatchObject({ cancelledRunIds: [run.runId] });
    expect(await stage.agent.report([reportOf(run, failing)])).toEqual(['stale']);
    const { body } = await call('GET', path);
    expect(body.status).toBe('CANCELLED');
    expect(body.results).toEqual([expect.objectContaining({ isCancelled: true, checkResultId: null })]);
    expect((await call('GET', `check-statuses/${check.id}`)).body).toBeNull();
    expect((await call('POST', `${path}/cancel`)).status).toBe(204);
  });

  it('runs tests without a trace in results, statuses and error groups of the checks', async () => {
    await stage.start();
    const check = await create({
      activated: false,
      privateLocations: [],
      environmentVariables: [
        { key: 'HOST', value: 'prod.test' },
        { key: 'TOKEN', value: 'own', secret: true },
      ],
    });
    const refused = await call('POST', 'test-sessions/trigger', {
      name: 'try',
      runLocation: 'lab',
      target: { checkId: check.id },
    });
    expect(refused.status).toBe(404);
    const session = await test({
      projectId: 'shop',
      target: { checkId: check.id, allowDeactivated: true },
      environmentVariables: [{ key: 'HOST', value: 'preview.test', locked: true }],
      metadata: { environment: 'preview', branchName: 'main', commitOwner: 'ada' },
      retryStrategy: { type: 'FIXED', baseBackoffSeconds: 0, maxRetries: 1 },
    });
    expect(session.results).toEqual([expect.objectContaining({ resultType: 'PENDING', checkId: check.id })]);
    const path = `test-sessions/${session.testSessionId}`;
    // Changes of the check do not affect the test session.
    await call('PUT', `checks/${check.id}`, { description: 'switched off' });
    const first = only(await stage.agent.claim());
    expect(first).toMatchObject({
      isTestSession: true,
      variables: { HOST: 'preview.test', TOKEN: 'own' },
      secretNames: ['TOKEN', 'HOST'],
    });
    expect(await stage.agent.report([reportOf(first, failing)])).toEqual(['accepted']);
    expect(await stage.agent.report([reportOf(first, failing)])).toEqual(['duplicate']);
    const second = only(await stage.agent.claim());
    expect(second).toMatchObject({ runId: first.runId, attempt: 1, isTestSession: true });
    expect((await call('GET', path)).body.status).toBe('RUNNING');
    await stage.agent.report([reportOf(second, failing)]);
    const ended = (await call('GET', `${path}/completion`)).body;
    expect(ended).toMatchObject({ status: 'FAILED', projectId: 'shop', metadata: { branchName: 'main' } });
    expect(ended.results.map(({ resultType }: { resultType: string }) => resultType)).toEqual([
      'ATTEMPT',
      'FINAL',
    ]);
    const result = await call('GET', `${path}/results/${second.resultId}`);
    expect(result.body).toMatchObject({ checkId: check.id, attempts: 1, hasFailures: true });
    expect((await call('GET', `check-results/${check.id}?resultType=ALL`)).body).toEqual([]);
    expect((await call('GET', `check-statuses/${check.id}`)).body).toBeNull();
    expect((await call('GET', 'error-groups')).body).toEqual([]);
    const groups = (await call('GET', 'test-session-error-groups/projects/shop')).body;
    expect(groups).toEqual([
      expect.objectContaining({
        projectId: 'shop',
        count: 1,
        environments: ['preview'],
        cleanedErrorMessage: 'connect ECONNREFUSED <ip>',
      }),
    ]);
    expect(ended.errorGroupIds).toEqual([groups[0].id]);
    expect((await call('GET', 'test-session-error-groups/projects/other')).body).toEqual([]);
    // All of them without pagination: more than the default page size of other lists.
    await stage.harness.store.transaction(async (repositories) => {
      const stored = await repositories.errorGroups.find(
        stage.harness.accountId,
        'test-session',
        groups[0].id,
      );
      if (!stored) throw new Error('the group is not there');
      for (let n = 0; n < 15; n += 1) {
        await repositories.errorGroups.insert({
          ...stored,
          id: randomUUID(),
          owner_id: 'large',
          error_hash: `${n}`,
        });
      }
    });
    const large = (query: string) => call('GET', `test-session-error-groups/projects/large${query}`);
    expect((await large('')).body).toHaveLength(15);
    expect((await large('?limit=10&page=2')).body).toHaveLength(5);
    expect((await large('?limit=101')).status).toBe(400);
    expect((await call('GET', 'test-session-error-groups?limit=100')).body).toContainEqual(groups[0]);
    const archived = await call('PATCH', `test-session-error-groups/${groups[0].id}`, {
      archiveForEver: true,
    });
    expect(archived.body.archivedUntilNextEvent).toBe(true);
  });

  it('counts a test as cancelled when its check is deleted meanwhile', async () => {
    await stage.start();
    const check = await create();
    const { testSessionId } = await test({ target: { checkId: check.id } });
    await call('DELETE', `checks/${check.id}`);
    const { body } = await call('GET', `test-sessions/${testSessionId}`);
    expect(body).toMatchObject({ status: 'CANCELLED', results: [{ isCancelled: true, checkId: check.id }] });
  });

  it('keeps the outcome of a test whose check is deleted afterwards', async () => {
    await stage.start();
    const check = await create();
    const { testSessionId } = await test({ target: { checkId: check.id } });
    await stage.agent.report([reportOf(only(await stage.agent.claim()), failing)]);
    const { body: before } = await call('GET', `test-sessions/${testSessionId}`);
    expect(before.status).toBe('FAILED');
    await call('DELETE', `checks/${check.id}`);
    const { store } = stage.harness;
    while ((await store.results.nextPurge()) !== undefined) {
      await store.transaction((repositories) => repositories.results.purgeSome(check.id, 10));
    }
    const { body: after } = await call('GET', `test-sessions/${testSessionId}`);
    expect(after.status).toBe('FAILED');
    expect(after.results).toHaveLength(before.results.length);
  });

  it('makes the last attempt of a test final if the retry never starts', async () => {
    await stage.start();
    stage.harness.startLeaseSweep();
    const check = await create();
    const session = await test({
      target: { checkId: check.id },
      retryStrategy: { type: 'FIXED', baseBackoffSeconds: 0, maxRetries: 3 },
    });
    const run = only(await stage.agent.claim());
    await stage.agent.report([reportOf(run, failing)]);
    stage.clock.advance(6 * 60_000);
    const path = `test-sessions/${session.testSessionId}`;
    const ended = await stage.advanceUntil('it is over', async () => {
      stage.clock.advance(1000);
      const { body } = await call('GET', path);
      return body.status !== 'RUNNING' && body;
    });
    expect(ended.results).toEqual([
      expect.objectContaining({ resultType: 'FINAL', testSessionResultId: run.resultId }),
    ]);
    expect((await call('GET', `check-results/${check.id}?resultType=ALL`)).body).toEqual([]);
  });

  it('lists test sessions by their metadata, page by page', async () => {
    await stage.start();
    const check = await create();
    const target = { checkId: check.id };
    const ids: string[] = [];
    for (const [name, branchName] of [
      ['Deploy 1', 'main'],
      ['Deploy 2', 'feature'],
      ['Nightly', 'main'],
    ] as const) {
      stage.clock.advance(1000);
      ids.push((await test({ name, target, metadata: { branchName, commitOwner: name } })).testSessionId);
    }
    const [first, second, third] = await stage.agent.claim();
    if (!first || !second || !third) throw new Error('nothing was leased');
    await stage.agent.report([reportOf(first), reportOf(second, failing)]);
    const group = (await call('GET', 'test-session-error-groups')).body[0].id;
    const list = async (query: string) => {
      const { body } = await call('GET', `test-sessions?${query}`);
      expect(body.length).toBe(body.entries.length);
      return body.entries.map(({ testSessionId }: { testSessionId: string }) => ids.indexOf(testSessionId));
    };
    expect(await list('')).toEqual([2, 1, 0]);
    expect(await list('statuses=PASSED&statuses=FAILED')).toEqual([1, 0]);
    expect(await list('statuses=RUNNING')).toEqual([2]);
    expect(await list('branches=main')).toEqual([2, 0]);
    expect(await list('textSearch=deploy')).toEqual([1, 0]);
    expect(await list('users=Nightly')).toEqual([2]);
    expect(await list(`errorGroupId=${group}`)).toEqual([1]);
    expect(await list('from=2030-01-01')).toEqual([]);
    const page = (await call('GET', 'test-sessions?limit=2')).body;
    expect(page.nextId).toBe(ids[1]);
    expect(await list(`limit=2&nextId=${page.nextId}`)).toEqual([0]);
    expect((await call('GET', `test-sessions?nextId=${randomUUID()}`)).status).toBe(400);
    expect((await call('POST', `test-sessions/${ids[2]}/cancel`)).status).toBe(204);
    expect(await list('statuses=CANCELLED')).toEqual([2]);
  });

  it('runs a check by the URL of a trigger: 200 if it passes, 503 if it fails, 429 too often', async () => {
    await stage.start();
    const { id: groupId } = (await call('POST', 'check-groups', { name: 'a group' })).body;
    const check = await create({ groupId });
    const path = `triggers/checks/${check.id}`;
    expect((await call('GET', path)).status).toBe(404);
    const { body: made } = await call('POST', path);
    expect((await call('GET', path)).body).toEqual(made);
    const run = async (url: string, fields: object) => {
      const calling = stage.harness.call('GET', url, undefined, { key: null });
      const leased = await stage.advanceUntil('a run', async () => (await stage.agent.claim())[0]);
      await stage.agent.report([reportOf(leased, { responseTimeMs: 123, ...fields })]);
      return stage.advanceUntil('the answer', async () =>
        Promise.race([calling, new Promise<false>((resolve) => setTimeout(() => resolve(false), 1))]),
      );
    };
    const passed = await run(made.url, {});
    expect([passed.status, passed.body]).toEqual([200, { hasFailures: false, responseTime: 123 }]);
    const failed = await run(made.url, failing);
    expect([failed.status, failed.body]).toEqual([503, { hasFailures: true, responseTime: 123 }]);
    expect((await call('GET', path)).body.called_at).not.toBeNull();
    const group = (await call('POST', `triggers/check-groups/${groupId}`)).body;
    expect(group.groupId).toBe(groupId);
    expect((await run(group.url, {})).status).toBe(200);
    expect((await call('POST', `triggers/check-groups/${groupId + 1}`)).status).toBe(404);
    for (let calls = 2; calls < 10; calls += 1) {
      stage.clock.advance(10);
      expect((await run(made.url, {})).status).toBe(200);
    }
    const tooOften = await stage.harness.call('GET', made.url, undefined, { key: null });
    expect(tooOften.status).toBe(429);
    expect(Number(tooOften.headers['retry-after'])).toBeGreaterThan(0);
    const { body: renewed } = await call('POST', path);
    expect((await stage.harness.call('GET', made.url, undefined, { key: null })).status).toBe(404);
    expect(renewed.id).toBe(made.id);
    expect((await call('DELETE', path)).status).toBe(204);
    expect((await stage.harness.call('GET', renewed.url, undefined, { key: null })).status).toBe(404);
    expect((await call('DELETE', path)).status).toBe(404);
  });
}
