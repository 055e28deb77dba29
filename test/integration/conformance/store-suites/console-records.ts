import { expect, it } from 'vitest';
import { failure } from '../../../../src/checks/contract/failure.ts';
import { sinceOf } from '../../../../src/console/overview/since.ts';
import { Sessions } from '../../../../src/service/logins/sessions.ts';
import type { OverviewOrder } from '../../../../src/service/overviews/overview.ts';
import { createCheck, createLocation, reportOf } from '../../../helpers/service/service.ts';
import type { StoreStage } from './stage.ts';

const dayMs = 86_400_000;

/** Records that pages store and read themselves. */
export function consoleRecordSuite(stage: StoreStage): void {
  it('keeps sessions: as a hash, for a week without use, and as long as the key exists', async () => {
    await stage.start();
    const { harness, clock } = stage;
    const { store } = harness;
    const sessions = new Sessions(store, clock);
    const key = await harness.addKey('READ_RUN');
    expect(await sessions.open('ak_of-nobody')).toBeNull();
    const session = await sessions.open(key);
    const other = await sessions.open(key);
    if (!session || !other) throw new Error('the key was refused');
    expect(await sessions.find(session.token)).toMatchObject({
      role: 'READ_RUN',
      accountId: harness.accountId,
    });
    const rows = await store.logins.list(harness.accountId, clock.wallMs());
    expect(JSON.stringify(rows)).not.toContain(session.token);

    clock.advance(6 * dayMs);
    expect(await sessions.find(session.token)).not.toBeNull();
    clock.advance(6 * dayMs);
    expect(await sessions.find(session.token)).not.toBeNull();
    expect(await sessions.find(other.token)).toBeNull();
    clock.advance(8 * dayMs);
    expect(await sessions.find(session.token)).toBeNull();

    // It ends however often it is used.
    const used = await sessions.open(key);
    for (let days = 0; days < 29; days += 1) {
      clock.advance(dayMs);
      expect(await sessions.find(used?.token ?? '')).not.toBeNull();
    }
    clock.advance(dayMs);
    expect(await sessions.find(used?.token ?? '')).toBeNull();
    const shorter = new Sessions(store, clock, 3_600_000);
    const brief = await sessions.open(key);
    clock.advance(3_600_000);
    expect(await shorter.find(brief?.token ?? '')).toBeNull();
    expect(await sessions.find(brief?.token ?? '')).toBeNull();

    const last = await sessions.open(key);
    const [row] = await store.logins.list(harness.accountId, clock.wallMs());
    await store.accounts.deleteKey(row?.key_id ?? '');
    expect(await sessions.find(last?.token ?? '')).toBeNull();
  });

  it('accepts a login link once, however many use it at a time', async () => {
    await stage.start();
    const sessions = new Sessions(stage.harness.store, stage.clock);
    const link = await sessions.makeLink(stage.harness.key);
    expect(await sessions.find(link?.token ?? '')).toBeNull();
    const tries = await Promise.all([1, 2, 3, 4].map(() => sessions.redeem(link?.token ?? '')));
    expect(tries.filter((session) => session !== null)).toHaveLength(1);
    const late = await sessions.makeLink(stage.harness.key);
    stage.clock.advance(10 * 60_000);
    expect(await sessions.redeem(late?.token ?? '')).toBeNull();
  });

  it('shows the states of checks, the worst first, and never unmeasured ones as passing', async () => {
    await stage.start();
    const { harness, clock } = stage;
    await createLocation(harness, 'empty');
    const options = { privateLocations: ['lab'], retryStrategy: null, doubleCheck: false };
    const failing = await createCheck(harness, { ...options, name: 'b failing', tags: ['x'] });
    const passing = await createCheck(harness, { ...options, name: 'a passing' });
    const gone = await createCheck(harness, { ...options, name: 'c soon gone' });
    await createCheck(harness, { ...options, name: 'd off', activated: false });
    const { overviews } = harness.store;
    const list = async (filter = {}) => {
      const [page, now] = [{ limit: 10, offset: 0 }, clock.wallMs()];
      const total = await overviews.total(harness.accountId, filter, now);
      return { total, rows: await overviews.list(harness.accountId, filter, { page, now }) };
    };
    const statesOf = async () => (await list()).rows.map(({ name, state }) => `${name}: ${state}`);
    expect(await statesOf()).toEqual([
      'a passing: waiting',
      'b failing: waiting',
      'c soon gone: waiting',
      'd off: off',
    ]);

    const down = failure('CONNECTION_REFUSED', 'connect ECONNREFUSED');
    for (const check of [failing, passing, gone]) await stage.queueNextSlot(check.id);
    const runs = await stage.agent.claim();
    await stage.agent.report(
      runs.map((run) => reportOf(run, run.check.id === failing.id ? { failure: down } : {})),
    );
    expect(await statesOf()).toEqual([
      'b failing: failed',
      'a passing: passed',
      'c soon gone: passed',
      'd off: off',
    ]);
    expect((await list()).rows.map((row) => sinceOf(row) !== null)).toEqual([true, false, false, false]);
    expect([...(await harness.store.overviews.counts(harness.accountId, clock.wallMs()))].sort()).toEqual([
      ['failed', 1],
      ['off', 1],
      ['passed', 2],
    ]);
    expect((await list({ tag: 'x' })).rows.map(({ name }) => name)).toEqual(['b failing']);
    expect((await list({ search: 'PASSING', location: 'lab' })).total).toBe(1);
    expect((await list({ search: '%' })).total).toBe(0);
    const slots = await harness.store.overviews.recentSlots([failing.id, passing.id], 2, clock.wallMs());
    expect(slots.get(failing.id)?.[0]).toMatchObject({ code: 'CONNECTION_REFUSED', state: 'final' });

    // From now on no agent claims: the last run no longer describes the state.
    harness.startLeaseSweep();
    clock.advance(10 * 60_000);
    await stage.advanceUntil('the slots of all of them are missed', async () =>
      (await statesOf()).slice(0, 3).every((state) => state.endsWith(': missed')),
    );
    expect(await statesOf()).toEqual([
      'a passing: missed',
      'b failing: missed',
      'c soon gone: missed',
      'd off: off',
    ]);
  });

  it('finds the things of an account by the words of their names', async () => {
    await stage.start();
    const { harness } = stage;
    const { accountId, store } = harness;
    const make = (path: string, body: object) => harness.call('POST', path, body);
    for (const name of ['Über 100% sure', 'not über', 'Straße'])
      await createCheck(harness, {
        name,
        privateLocations: ['lab'],
        request: { url: 'http://shop.test/a_b' },
      });
    await make('/v1/check-groups', { name: 'Über-Gruppe' });
    await make('/v1/dashboards', { header: 'Über den Wolken', customUrl: 'clouds' });
    const checks = async (...words: string[]) =>
      (await store.names.checks(accountId, words, 10)).map(({ name }) => name);
    expect(await checks('über')).toEqual(['Über 100% sure', 'not über']);
    expect(await checks('sure', '100%')).toEqual(['Über 100% sure']);
    expect(await checks('shop.test', 'a_b', 'straße')).toEqual(['Straße']);
    for (const nothing of ['10_%', 'axb', '\\']) expect(await checks(nothing)).toEqual([]);
    expect((await store.names.checks(accountId, ['shop'], 2)).length).toBe(2);
    const others = async (...words: string[]) =>
      (await store.names.others(accountId, words)).map(({ kind, name }) => `${kind}: ${name}`);
    expect(await others('über')).toEqual(['group: Über-Gruppe', 'dashboard: Über den Wolken']);
    expect(await others('clouds', 'wolken')).toEqual(['dashboard: Über den Wolken']);
    expect(await others('lab')).toEqual(['location: lab']);
    expect(await store.names.others('another account', ['lab'])).toEqual([]);
    expect(await store.names.checks('another account', ['shop'], 10)).toEqual([]);
  });

  it('lists checks by group and in order, and reports the last change of a check and the last write', async () => {
    await stage.start();
    const { harness, clock, agent } = stage;
    const { overviews, statuses, audit } = harness.store;
    const { accountId } = harness;
    const before = await audit.lastWrite(accountId);
    const { body: group } = await harness.call('POST', '/v1/check-groups', { name: 'Zoo' });
    expect(await audit.lastWrite(accountId)).not.toBe(before);
    const options = { privateLocations: ['lab'], retryStrategy: null, doubleCheck: false };
    const outside = await createCheck(harness, { ...options, name: 'a outside' });
    const inside = await createCheck(harness, { ...options, name: 'b inside', groupId: group.id });
    const [page, now] = [{ limit: 10, offset: 0 }, clock.wallMs()];
    const rows = await overviews.list(accountId, {}, { page, now, isByGroup: true });
    expect(rows.map(({ name }) => name)).toEqual(['b inside', 'a outside']);
    for (const [isByGroup, found] of [
      [true, ['b inside', 'a outside']],
      [false, ['a outside', 'b inside']],
    ] as const) {
      const checks = await overviews.matching(accountId, {}, { now, isByGroup });
      expect(checks.map(({ name }) => name)).toEqual(found);
    }
    expect(await overviews.groupCounts(accountId, { search: 'inside' }, now)).toEqual(
      new Map([[group.id, new Map([['waiting', 1]])]]),
    );

    const list = async (order: OverviewOrder) =>
      (await overviews.list(accountId, {}, { page, now, order })).map(({ name }) => name);
    for (const by of ['state', 'name', 'run'] as const)
      expect([by, await list({ by, isDescending: false })]).toEqual([by, ['a outside', 'b inside']]);
    expect(await list({ by: 'name', isDescending: true })).toEqual(['b inside', 'a outside']);
    expect(await overviews.activeAt(accountId, ['lab', 'empty'])).toEqual(new Map([['lab', 2]]));
    expect(await overviews.activeAt('another account', ['lab'])).toEqual(new Map());

    await stage.queueNextSlot(outside.id);
    const own = (await agent.claim()).filter(({ check }) => check.id === outside.id);
    await agent.report(own.map((run) => reportOf(run)));
    // Checks without a run count as the oldest on every engine; equal states are sorted by name.
    expect(await list({ by: 'run', isDescending: false })).toEqual(['b inside', 'a outside']);
    expect(await list({ by: 'run', isDescending: true })).toEqual(['a outside', 'b inside']);
    expect(await list({ by: 'state', isDescending: true })).toEqual(['a outside', 'b inside']);
    expect(await list({ by: 'state', isDescending: false })).toEqual(['b inside', 'a outside']);
    const changes = await statuses.changesOf(accountId, [outside.id, inside.id]);
    expect([...changes]).toEqual([[outside.id, await statuses.lastChange(accountId)]]);
    expect(await statuses.changesOf('another account', [outside.id])).toEqual(new Map());
  });
}
