import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { failure } from '../../../../src/checks/contract/failure.ts';
import { findCheckType } from '../../../../src/checks/index.ts';
import { type CheckState, checkStates } from '../../../../src/protocol/checks/check-state.ts';
import { notPlanned } from '../../../../src/service/checks/timing/slot-state.ts';
import { shownStates } from '../../../../src/service/overviews/states.ts';
import type { StatusChange } from '../../../../src/service/results/status-store.ts';
import { createCheck, createLocation, reportOf, until } from '../../../helpers/service/service.ts';
import { ledgerRow } from './coverage.ts';
import type { StoreStage } from './stage.ts';

const minuteMs = 60_000;

/** The facts that determine the state of a check, as simply as possible. */
interface Facts {
  readonly checkType: 'URL' | 'HEARTBEAT';
  readonly isOn: boolean;
  readonly group: 'none' | 'on' | 'off';
  readonly isTagged: boolean;
  readonly intervalMs: number;
  readonly changedMsAgo: number;
  readonly isParallel: boolean;
  /** The last measurement at each of two locations: its age and its verdict. */
  readonly last: readonly (null | {
    readonly msAgo: number;
    readonly said: 'pass' | 'slow' | 'fail' | 'error';
  })[];
  readonly held: readonly boolean[];
}

const places = ['lab', 'other'];

/** The rule in a few lines, without a database. */
function modelOf(facts: Facts, isTagPaused: boolean): CheckState {
  if (!facts.isOn || facts.group === 'off' || (isTagPaused && facts.isTagged)) return 'paused';
  const worst = (said: readonly string[]): CheckState => {
    if (said.includes('fail')) return 'failing';
    if (said.includes('error')) return 'not-judged';
    return said.includes('slow') ? 'degraded' : 'passing';
  };
  const known = facts.last.flatMap((last, index) => (last === null ? [] : [{ ...last, index }]));
  const newest = known.toSorted((left, right) => left.msAgo - right.msAgo)[0];
  const saidLast = facts.isParallel ? known.map(({ said }) => said) : [newest?.said ?? ''];
  if (facts.checkType === 'HEARTBEAT') return newest ? worst(saidLast) : 'pending';
  const longestMs = 2 * facts.intervalMs + Math.min(facts.intervalMs, 6 * minuteMs);
  const isHeld = facts.held.includes(true);
  if (!isHeld && (newest?.msAgo ?? facts.changedMsAgo) > longestMs) return 'not-measured';
  if (!newest) return 'pending';
  if (!facts.isParallel) return worst([newest.said]);
  const measured = known.filter(({ msAgo, index }) => msAgo <= longestMs || facts.held[index]);
  return worst((measured.length > 0 ? measured : known).map(({ said }) => said));
}

const agoMs = fc.integer({ min: 0, max: 90 }).map((tens) => tens * 10_000 + 1);
const last = fc.option(
  fc.record({
    msAgo: agoMs,
    said: fc.constantFrom('pass' as const, 'slow' as const, 'fail' as const, 'error' as const),
  }),
  { freq: 2 },
);
const someFacts: fc.Arbitrary<Facts> = fc.record({
  checkType: fc.constantFrom('URL', 'URL', 'URL', 'HEARTBEAT'),
  isOn: fc.constantFrom(true, true, true, false),
  group: fc.constantFrom('none', 'none', 'on', 'off'),
  isTagged: fc.boolean(),
  intervalMs: fc.constantFrom(10_000, minuteMs, 5 * minuteMs, 60 * minuteMs),
  changedMsAgo: agoMs,
  isParallel: fc.boolean(),
  last: fc.tuple(last, last),
  held: fc.constantFrom([false, false], [false, false], [true, false], [false, true]),
});

/** The state of a check, defined once. */
export function checkStateSuite(stage: StoreStage): void {
  const store = async (facts: Facts, groups: Readonly<Record<string, number | null>>): Promise<string> => {
    const { accountId, store } = stage.harness;
    const now = stage.clock.wallMs();
    const id = randomUUID();
    const type = findCheckType(facts.checkType);
    await store.transaction(async (repositories) => {
      await repositories.checks.insert(
        id,
        accountId,
        facts.checkType,
        {
          ...{ name: id, activated: facts.isOn, muted: false, groupOrder: null, url: null },
          ...{ groupId: groups[facts.group] ?? null, tags: facts.isTagged ? ['t'] : [], locations: places },
          ...{ definition: { name: id, frequency: 1 }, slots: notPlanned, intervalMs: facts.intervalMs },
          runParallel: facts.isParallel,
        },
        now - facts.changedMsAgo,
      );
      const changes = facts.last.flatMap((one, index): StatusChange[] => {
        if (one === null) return [];
        const place = places[index] ?? '';
        return [
          {
            ...{ checkId: id, accountId, location: place, slotLocation: place, slotAt: now - one.msAgo },
            ...{ hasFailures: one.said === 'fail', hasErrors: one.said === 'error' },
            ...{ isDegraded: one.said === 'slow', measuredMs: null, certificateExpiresAt: null },
            ...{ targetHost: null, targetAddress: null, checkRunId: 1 },
          },
        ];
      });
      await repositories.statuses.apply(changes, new Set(facts.isParallel ? [id] : []), now, []);
      for (const [index, isHeld] of facts.held.entries()) {
        if (!isHeld) continue;
        const one = { minute: 0, location: places[index] ?? '', kind: 'passed', slotCount: 1 } as const;
        const run = ledgerRow({ checkId: id, accountId, start: now, one });
        await repositories.runs.insert([
          {
            ...run,
            check_type: type?.name ?? '',
            state: 'leased',
            lease_until: now + minuteMs,
            ended: null,
            ended_day: 0,
          },
        ]);
      }
    });
    return id;
  };

  describe('the state of a check', () => {
    it('equals a plain model, in the list of all checks and in the overview', async () => {
      await stage.start();
      const { harness, clock } = stage;
      const { accountId } = harness;
      const groups: Record<string, number | null> = { none: null };
      for (const name of ['on', 'off']) {
        const { body } = await harness.call('POST', '/v1/check-groups', { name, activated: name === 'on' });
        groups[name] = body.id;
      }
      const known = new Map<string, Facts>();
      for (const facts of fc.sample(someFacts, { numRuns: 300, seed: 33 }))
        known.set(await store(facts, groups), facts);
      const compare = async (isTagPaused: boolean) => {
        const now = clock.wallMs();
        const states = await harness.store.states.of(accountId, undefined, now);
        const wrong = [...known].flatMap(([id, facts]) => {
          const [expected, found] = [modelOf(facts, isTagPaused), states.get(id)?.state];
          return expected === found ? [] : [{ facts, expected, found }];
        });
        expect(wrong).toEqual([]);
        const rows = await harness.store.overviews.list(
          accountId,
          {},
          { page: { limit: 500, offset: 0 }, now },
        );
        expect(
          rows.filter(({ id, state }) => state !== shownStates[states.get(id)?.state ?? 'pending']),
        ).toEqual([]);
        expect(rows).toHaveLength(known.size);
        return new Set([...states.values()].map(({ state }) => state));
      };
      expect([...(await compare(false))].sort()).toEqual([...checkStates].sort());
      const now = clock.wallMs();
      const window = await harness.call('POST', '/v1/maintenance-windows', {
        ...{ name: 'w', tags: ['t'], startsAt: new Date(now - minuteMs).toISOString() },
        endsAt: new Date(now + minuteMs).toISOString(),
      });
      expect(window.status).toBe(201);
      await compare(true);
    });

    it('no longer shows a check as passing once its agents are gone, on any surface, without an event', async () => {
      await stage.start();
      const { harness, clock, agent } = stage;
      const options = { privateLocations: ['lab'], retryStrategy: null, doubleCheck: false };
      const passing = await createCheck(harness, { ...options, name: 'passing', tags: ['shown'] });
      const failing = await createCheck(harness, { ...options, name: 'failing', tags: ['shown'] });
      const unjudged = await createCheck(harness, { ...options, name: 'unjudged', tags: ['shown'] });
      const never = await createCheck(harness, {
        ...options,
        name: 'never',
        privateLocations: [],
        tags: ['other'],
      });
      const { body: dashboard } = await harness.call('POST', '/v1/dashboards', {
        ...{ header: 'D', customUrl: 'd', tags: ['shown'] },
      });
      const ids: string[] = [passing.id, failing.id, unjudged.id];
      const measure = async () => {
        const faults = new Map([
          [failing.id, failure('CONNECTION_REFUSED', 'refused')],
          [unjudged.id, failure('AGENT_STARVED', 'late')],
        ]);
        for (const id of ids) {
          await stage.queueNextSlot(id);
          // A claim skips a run that the scheduler still has locked.
          await until('its run is measured', async () => {
            const runs = await agent.claim();
            await agent.report(
              runs.map((run) => reportOf(run, { failure: faults.get(run.check.id) ?? null })),
            );
            return runs.some((run) => run.check.id === id);
          });
        }
      };
      const surfaces = async () => {
        // Public responses are cached for some seconds.
        clock.advance(10_001);
        const { body: statuses } = await harness.call('GET', '/v1/check-statuses');
        const { body: checks } = await harness.call('GET', '/v1/checks');
        const { body: shown } = await harness.call('GET', `/v1/public/dashboards/${dashboard.customUrl}`);
        const badges = await Promise.all(
          ids.map(async (id) => String((await harness.call('GET', `/v1/badges/checks/${id}`)).body)),
        );
        const metrics = String((await harness.call('GET', '/metrics/checks')).body);
        const probes = String((await harness.call('GET', '/metrics/checks?names=blackbox')).body);
        const stateIn = (list: readonly { state: CheckState }[], of: (one: never) => string) =>
          ids.map((id) => list.find((one) => of(one as never) === id)?.state);
        const sample = (text: string, name: string) =>
          ids.map(
            (id) =>
              text
                .split('\n')
                .find((line) => line.startsWith(`${name}{check="${id}"`))
                ?.at(-1) ?? null,
          );
        return {
          statuses: stateIn(statuses, ({ checkId }: { checkId: string }) => checkId),
          checks: stateIn(checks, ({ id }: { id: string }) => id),
          dashboard: stateIn(shown.checks, ({ checkId }: { checkId: string }) => checkId),
          summary: shown.summary,
          badges: badges.map((badge) => /: ([a-z ]+?)(?: \d|<)/.exec(badge)?.[1]),
          metric: ids.map(
            (id) => new RegExp(`picket_check_state{check="${id}".*state="([a-z-]+)"`).exec(metrics)?.[1],
          ),
          up: sample(metrics, 'picket_check_up'),
          probe: sample(probes, 'probe_success'),
          listed: statuses.some(({ checkId }: { checkId: string }) => checkId === never.id),
          passingFilter: (await harness.call('GET', '/v1/checks?status=passing')).body.map(
            ({ id }: { id: string }) => id,
          ),
        };
      };
      // Metrics count from the first scrape.
      await harness.call('GET', '/metrics/checks');
      await measure();
      const states = ['passing', 'failing', 'not-judged'];
      expect(await surfaces()).toEqual({
        ...{ statuses: states, checks: states, dashboard: states, metric: states },
        badges: ['passing', 'failing', 'not judged'],
        summary: {
          passing: 1,
          degraded: 0,
          failing: 1,
          notJudged: 1,
          notMeasured: 0,
          pending: 0,
          paused: 0,
          unknown: 1,
        },
        ...{ up: ['1', '0', null], probe: ['1', '0', null], listed: false, passingFilter: [passing.id] },
      });

      const gone = ['not-measured', 'not-measured', 'not-measured'];
      const check = await harness.store.checks.find(harness.accountId, passing.id);
      const intervalMs = Number(check?.definition['frequency']) * minuteMs;
      clock.advance(2 * intervalMs + Math.min(intervalMs, 6 * minuteMs));
      expect(await surfaces()).toEqual({
        ...{ statuses: gone, checks: gone, dashboard: gone, metric: gone },
        badges: ['not measured', 'not measured', 'not measured'],
        summary: {
          passing: 0,
          degraded: 0,
          failing: 0,
          notJudged: 0,
          notMeasured: 3,
          pending: 0,
          paused: 0,
          unknown: 3,
        },
        ...{ up: [null, null, null], probe: [null, null, null], listed: false, passingFilter: [] },
      });
      expect((await harness.call('GET', '/v1/check-statuses?neverRun=true')).body).toEqual(
        expect.arrayContaining([expect.objectContaining({ checkId: never.id, lastCheckRunId: null })]),
      );
    });

    it('is that of the measured locations if a check runs in parallel, and names the others', async () => {
      await stage.start();
      const { harness, agent, clock } = stage;
      await createLocation(harness, 'gone');
      const check = await createCheck(harness, {
        ...{ name: 'both', privateLocations: ['lab', 'gone'], runParallel: true },
        ...{ retryStrategy: null, doubleCheck: false },
      });
      clock.advance(10 * minuteMs);
      await stage.queueNextSlot(check.id, 2);
      // A claim skips runs that another transaction has locked.
      let runs = await agent.claim();
      while (runs.length === 0) runs = await agent.claim();
      await agent.report(runs.map((run) => reportOf(run)));
      const { body } = await harness.call('GET', `/v1/check-statuses/${check.id}`);
      expect(body).toMatchObject({ state: 'passing', notMeasuredAt: ['gone'] });
    });
  });
}
