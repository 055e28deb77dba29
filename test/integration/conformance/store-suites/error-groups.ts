import { expect, it } from 'vitest';
import { failure } from '../../../../src/checks/contract/failure.ts';
import { createCheck, reportOf } from '../../../helpers/service/service.ts';
import type { StoreStage } from './stage.ts';

/** Error groups: grouping, reopening, and visibility. */
export function errorGroupSuite(stage: StoreStage): void {
  /** Runs a check once with these error messages; returns the result. */
  const failWith = async (checkId: string, ...errorMessages: string[]) => {
    await stage.queueNextSlot(checkId);
    const run = (await stage.agent.claim()).find(({ check }) => check.id === checkId);
    if (!run) throw new Error('nothing was leased');
    const down = failure('CONNECTION_REFUSED', errorMessages[0] ?? 'down');
    const report = reportOf(run, errorMessages.length === 0 ? {} : { failure: down, errorMessages });
    expect(await stage.agent.report([report])).toEqual(['accepted']);
    const result = await stage.harness.call('GET', `/v1/check-results/${checkId}/${run.resultId}`);
    return result.body as { errorGroupIds: string[] };
  };
  const create = () =>
    createCheck(stage.harness, { privateLocations: ['lab'], doubleCheck: false, retryStrategy: null });
  const get = async (id: string | undefined) =>
    (await stage.harness.call('GET', `/v1/error-groups/${id}`)).body;

  it('creates a limited number of groups for one batch of reports, and accepts every report', async () => {
    await stage.start();
    const checkIds = await Promise.all(Array.from({ length: 6 }, async () => (await create()).id));
    for (const checkId of checkIds) {
      await stage.harness.call('POST', '/v1/check-sessions/trigger', { target: { checkId } });
    }
    const runs = await stage.agent.claim();
    const messages = (run: number) =>
      Array.from({ length: 50 }, (_, index) => {
        const letter = String.fromCodePoint(0x4e00 + run * 50 + index);
        return `${letter.repeat(30 + index)} failed`;
      });
    const down = failure('CONNECTION_REFUSED', 'down');
    const reports = runs.map((run, index) =>
      reportOf(run, { failure: down, errorMessages: messages(index) }),
    );
    expect(await stage.agent.report(reports)).toEqual(runs.map(() => 'accepted'));
    let groups = 0;
    for (const checkId of checkIds) {
      const { body } = await stage.harness.call('GET', `/v1/error-groups/checks/${checkId}?limit=100`);
      groups += (body.length ?? body.entries?.length) as number;
    }
    expect(groups).toBe(200);
  });

  it('groups similar errors of a check', async () => {
    await stage.start();
    const check = await create();
    expect((await failWith(check.id)).errorGroupIds).toEqual([]);
    const first = await failWith(check.id, 'connect ECONNREFUSED 10.0.0.5:8443');
    const firstSeen = new Date(stage.clock.wallMs()).toISOString();
    const second = await failWith(check.id, 'connect ECONNREFUSED 10.0.0.77:80');
    expect(first.errorGroupIds).toHaveLength(1);
    expect(second.errorGroupIds).toEqual(first.errorGroupIds);
    const group = await get(first.errorGroupIds[0]);
    expect(group).toMatchObject({
      checkId: check.id,
      rawErrorMessage: 'connect ECONNREFUSED 10.0.0.5:8443',
      cleanedErrorMessage: 'connect ECONNREFUSED <ip>',
      count: 2,
      firstSeen,
      lastSeen: new Date(stage.clock.wallMs()).toISOString(),
      archivedUntilNextEvent: false,
      rootCauseAnalyses: [],
    });
    expect(group.errorHash).toMatch(/^[0-9a-f]{64}$/);
    // Similar messages are the same error; others are different ones.
    const similar = await failWith(check.id, 'connect ECONNREFUSED 10.0.0.5:8443!');
    expect(similar.errorGroupIds).toEqual(first.errorGroupIds);
    const other = await failWith(check.id, 'getaddrinfo ENOTFOUND api.test');
    expect(other.errorGroupIds).not.toEqual(first.errorGroupIds);
    // The same error of another check is another group.
    const elsewhere = await create();
    const foreign = await failWith(elsewhere.id, 'connect ECONNREFUSED 10.0.0.5:8443');
    expect(foreign.errorGroupIds).not.toEqual(first.errorGroupIds);
    expect((await get(foreign.errorGroupIds[0])).errorHash).toBe(group.errorHash);
    const list = await stage.harness.call('GET', `/v1/error-groups/checks/${check.id}?limit=1`);
    expect(list.body.map(({ id }: { id: string }) => id)).toEqual(other.errorGroupIds);
    expect(list.headers['content-range']).toBe('0-0/2');
    expect((await stage.harness.call('GET', '/v1/error-groups')).body).toHaveLength(3);
  });

  it('creates a group for every failing assertion, whatever was received', async () => {
    await stage.start();
    const check = await create();
    const assertion = (target: string, actual: string) =>
      `Assertion failed: RESPONSE_TIME LESS_THAN ${target}, received ${actual}`;
    const first = await failWith(check.id, assertion('200', '512'), assertion('300', '512'));
    const second = await failWith(check.id, assertion('200', '733'));
    expect(new Set(first.errorGroupIds).size).toBe(2);
    expect(first.errorGroupIds).toContain(second.errorGroupIds[0]);
  });

  it('shows an archived group again when its error recurs, unless it is archived for good', async () => {
    await stage.start();
    const check = await create();
    const message = 'Unexpected status 503';
    const [id] = (await failWith(check.id, message)).errorGroupIds;
    const patch = async (body: object) =>
      (await stage.harness.call('PATCH', `/v1/error-groups/${id}`, body)).body;
    const listed = async () => (await stage.harness.call('GET', '/v1/error-groups')).body.length;
    expect((await patch({ archivedUntilNextEvent: true })).archivedUntilNextEvent).toBe(true);
    expect(await listed()).toBe(0);
    expect((await stage.harness.call('GET', '/v1/error-groups?includeArchived=true')).body).toHaveLength(1);
    await failWith(check.id, message);
    expect((await get(id)).archivedUntilNextEvent).toBe(false);
    expect(await listed()).toBe(1);
    expect((await patch({ archiveForEver: true })).archivedUntilNextEvent).toBe(true);
    await failWith(check.id, message);
    expect(await get(id)).toMatchObject({ archivedUntilNextEvent: true, count: 3 });
    expect(await listed()).toBe(0);
    expect((await patch({ archivedUntilNextEvent: false })).archivedUntilNextEvent).toBe(false);
    const neither = await stage.harness.call('PATCH', `/v1/error-groups/${id}`, {});
    expect([neither.status, neither.body]).toEqual([200, await get(id)]);
    expect((await stage.harness.call('DELETE', `/v1/checks/${check.id}`)).status).toBe(204);
    expect((await get(id)).statusCode).toBe(404);
  });

  it('counts the runs that failed by an error, however often each was retried', async () => {
    await stage.start();
    const check = await createCheck(stage.harness, {
      ...{ privateLocations: ['lab'], doubleCheck: false },
      retryStrategy: { type: 'FIXED', baseBackoffSeconds: 0, maxRetries: 2, sameRegion: true },
    });
    const down = failure('CONNECTION_REFUSED', 'connect ECONNREFUSED 192.0.2.7:443');
    /** Runs it once; every attempt but the last fails, and the last one fails or passes as given. */
    const run = async (attempts: number, last: 'fails' | 'passes') => {
      await stage.queueNextSlot(check.id);
      for (let attempt = 1; attempt <= attempts; attempt += 1) {
        stage.clock.advance(1);
        const leased = (await stage.agent.claim()).find((one) => one.check.id === check.id);
        if (!leased) throw new Error('nothing was leased');
        const hasPassed = attempt === attempts && last === 'passes';
        const outcome = hasPassed ? {} : { failure: down, errorMessages: [down.message] };
        expect(await stage.agent.report([reportOf(leased, outcome)])).toEqual(['accepted']);
      }
    };
    const group = async () =>
      (await stage.harness.call('GET', `/v1/error-groups/checks/${check.id}`)).body[0];
    const inRange = async () => {
      const range = { from: 0, to: stage.clock.wallMs() + 1 };
      return (
        (await stage.harness.store.results.runsByErrorGroup(check.id, range)).get((await group()).id) ?? 0
      );
    };
    await run(2, 'passes');
    expect([(await group()).count, await inRange()]).toEqual([0, 0]);
    await run(3, 'fails');
    await run(3, 'passes');
    await run(3, 'fails');
    expect([(await group()).count, await inRange()]).toEqual([2, 2]);
  });
}
