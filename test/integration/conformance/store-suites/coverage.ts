import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { endedAt } from '../../../../src/platform/store/days/ended-day.ts';
import {
  addedCoverage,
  type Coverage,
  coverageOf,
  outcomeOf,
} from '../../../../src/protocol/runs/coverage.ts';
import { checkCoverages } from '../../../../src/service/coverage/coverage-query.ts';
import { sealedTogether } from '../../../../src/service/coverage/slot-days.ts';
import type { Span } from '../../../../src/service/coverage/slot-segments.ts';
import type { RunRow } from '../../../../src/service/runs/tables.ts';
import { createCheck } from '../../../helpers/service/service.ts';
import { resultRow } from './result-samples.ts';
import type { StoreStage } from './stage.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const spanMs = 50 * hourMs;

/** A random slot. */
export interface SlotSample {
  readonly minute: number;
  readonly location: string;
  readonly kind: 'passed' | 'error' | 'no-agent' | 'paused-by-maintenance' | 'cancelled' | 'away' | 'session';
  readonly slotCount: number;
}

const samples = fc.uniqueArray(
  fc.record<SlotSample>({
    minute: fc.integer({ min: 0, max: spanMs / minuteMs }),
    location: fc.constantFrom('lab', 'office', 'eu-west-1'),
    kind: fc.constantFrom(
      'passed',
      'error',
      'no-agent',
      'paused-by-maintenance',
      'cancelled',
      'away',
      'session',
    ),
    slotCount: fc.integer({ min: 2, max: 3000 }),
  }),
  { minLength: 1, maxLength: 80, selector: ({ minute, location }) => `${minute} ${location}` },
);

/** Coverage: its parts add up to the slots that were due, in every window, sealed or not. */
export function coverageSuite(stage: StoreStage): void {
  const insert = async (checkId: string, start: number, all: readonly SlotSample[]): Promise<RunRow[]> => {
    const { store, accountId } = stage.harness;
    const rows = all.map((one): RunRow => ledgerRow({ checkId, accountId, start, one }));
    await store.runs.insert(rows);
    await store.results.insert(
      rows.flatMap((row, index) =>
        row.state === 'final'
          ? [
              {
                ...resultRow(checkId, accountId, row.slot_at, { hasErrors: all[index]?.kind === 'error' }),
                run_id: row.id,
              },
            ]
          : [],
      ),
    );
    return rows;
  };
  const read = async (checkId: string, span: Span) =>
    addedCoverage(
      (
        await checkCoverages(stage.harness.store.slotDays, {
          ...span,
          checkIds: [checkId],
          location: null,
          intervalMs: null,
        })
      ).map(({ total }) => total),
    );

  it('adds up to the slots due in every window, before and after they are sealed, and without the ledger', async () => {
    await stage.start();
    const { store } = stage.harness;
    const start = Math.floor(stage.clock.wallMs() / hourMs) * hourMs - 30 * hourMs;
    const windows = fc.array(
      fc.tuple(fc.integer({ min: -hourMs, max: 2 * spanMs }), fc.integer({ min: 0, max: 2 * spanMs })),
      { minLength: 1, maxLength: 6 },
    );
    await fc.assert(
      fc.asyncProperty(samples, windows, async (all, asked) => {
        const check = await createCheck(stage.harness, { activated: false });
        const rows = await insert(check.id, start, all);
        const spans = asked.map(([from, length]) => ({ from: start + from, to: start + from + length }));
        const expected = spans.map((span) => bruteForce(rows, all, span));
        const seen = async () => Promise.all(spans.map((span) => read(check.id, span)));
        expect(await seen()).toEqual(expected);
        for (const coverage of expected) expect(partsOf(coverage)).toBe(coverage.due);
        // Hour by hour as time passes; then with an empty ledger.
        for (const hours of [20, 35, 60]) {
          const now = start + hours * hourMs;
          const seal = () => store.transaction(({ slotDays }) => slotDays.sealNext(check.id, now));
          for (let isMore = true; isMore; ) isMore = await seal();
          expect(await seen()).toEqual(expected);
        }
        await store.retired.removeRuns(Number.MAX_SAFE_INTEGER, 1000);
        expect(await store.runs.ofCheck(check.id)).toEqual([]);
        expect(await seen()).toEqual(expected);
        await stage.harness.call('DELETE', `/v1/checks/${check.id}`);
      }),
      { numRuns: 25 },
    );
  });

  it('is the same when slots of several checks are sealed together, each up to its own end', async () => {
    await stage.start();
    const { store } = stage.harness;
    const start = Math.floor(stage.clock.wallMs() / hourMs) * hourMs - 30 * hourMs;
    const ids: string[] = [];
    for (const minutes of [[0, 1, 2], [5, 1_435, 1_450], [600]]) {
      const check = await createCheck(stage.harness, { activated: false });
      const passed = { location: 'lab', kind: 'passed', slotCount: 1 } as const;
      await insert(
        check.id,
        start,
        minutes.map((minute) => ({ ...passed, minute })),
      );
      ids.push(check.id);
    }
    const span = { from: start, to: start + 30 * hourMs };
    const seen = async () => Promise.all(ids.map((id) => read(id, span)));
    const before = await seen();
    expect(before.map(({ due }) => due)).toEqual([3, 3, 1]);
    const gone = [...ids, 'gone'];
    const seal = (hours: number) =>
      store.transaction(({ slotDays }) => slotDays.sealTogether(gone, start + hours * hourMs));
    for (const hours of [2, 12, 30]) {
      const portions = sealedTogether(await store.slotDays.nextSeals(gone, start + hours * hourMs));
      expect(portions.flat().every((id) => ids.includes(id))).toBe(true);
      for (let isMore = true; isMore; ) isMore = await seal(hours);
      expect(await seen()).toEqual(before);
    }
    expect(await store.slotDays.nextSeals(gone, start + 30 * hourMs)).toEqual(new Map());
    await store.retired.removeRuns(Number.MAX_SAFE_INTEGER, 1000);
    expect(await seen()).toEqual(before);
  });

  it('seals nothing that is still open or not scheduled yet', async () => {
    await stage.start();
    const { store } = stage.harness;
    const check = await createCheck(stage.harness, { privateLocations: ['lab'] });
    const due = (await store.checks.find(stage.harness.accountId, check.id))?.slots.nextSlotAt ?? 0;
    // No scheduler ran for hours: the slots of that time have no records yet.
    const later = due + 5 * hourMs;
    expect(await store.slotDays.nextSeal(check.id, later)).toBeNull();
    await stage.queueNextSlot(check.id);
    stage.clock.advance(5 * hourMs);
    // The queued run blocks all later slots.
    expect((await store.slotDays.nextSeal(check.id, later))?.to ?? 0).toBeLessThanOrEqual(due);
    await stage.harness.call('PUT', `/v1/checks/url/${check.id}`, { activated: false });
    const seal = () => store.transaction(({ slotDays }) => slotDays.sealNext(check.id, stage.clock.wallMs()));
    expect(await seal()).toBe(true);
    expect(await store.slotDays.sealedUntil(check.id)).toBeGreaterThan(due);
    const coverage = await read(check.id, { from: due - hourMs, to: due + 6 * hourMs });
    expect(coverage.cancelled.deactivated).toBeGreaterThan(0);
    expect(partsOf(coverage)).toBe(coverage.due);
  });

  it('forgets the slots of a deleted check, and days before the range of analytics', async () => {
    await stage.start();
    const { store } = stage.harness;
    const check = await createCheck(stage.harness, { activated: false });
    const start = Math.floor(stage.clock.wallMs() / hourMs) * hourMs - 70 * 24 * hourMs;
    await insert(check.id, start, [{ minute: 0, location: 'lab', kind: 'passed', slotCount: 2 }]);
    const now = stage.clock.wallMs();
    await store.transaction(({ slotDays }) => slotDays.sealNext(check.id, now));
    const span = { from: start, to: now };
    await store.retired.removeRuns(now, 10);
    expect(await read(check.id, span)).toMatchObject({ due: 1 });
    expect(await store.slotDays.prune([check.id], start, 10)).toBe(0);
    expect(await store.slotDays.prune([check.id], start + 48 * hourMs, 10)).toBe(1);
    expect(await read(check.id, span)).toMatchObject({ due: 0 });
    await stage.harness.call('DELETE', `/v1/checks/${check.id}`);
    await store.transaction(({ results }) => results.purgeSome(check.id, 100));
    expect(await store.slotDays.sealedUntil(check.id)).toBe(0);
  });
}

/** A slot as the ledger records it; it ended when it was due. */
export function ledgerRow(slot: {
  readonly checkId: string;
  readonly accountId: string;
  readonly start: number;
  readonly one: SlotSample;
}): RunRow {
  const { one, start } = slot;
  const id = randomUUID();
  const isFinal = one.kind === 'passed' || one.kind === 'error' || one.kind === 'session';
  const isCancelled = one.kind === 'cancelled';
  const slotAt = start + one.minute * minuteMs;
  return {
    id,
    account_id: slot.accountId,
    check_id: slot.checkId,
    check_type: 'URL',
    lane: 'probe',
    location_id: null,
    location: one.location,
    slot_location: one.location,
    slot_at: slotAt,
    slot_count: one.kind === 'away' ? one.slotCount : 1,
    slot_interval_ms: one.kind === 'away' ? 10_000 : null,
    state: isFinal ? 'final' : isCancelled ? 'cancelled' : 'missed',
    reason: isFinal ? null : isCancelled ? 'deactivated' : one.kind === 'away' ? 'service-away' : one.kind,
    attempt: 0,
    freshness_ms: 10_000,
    ready_at: slotAt,
    expires_at: slotAt + 10_000,
    lease_number: 0,
    lease_until: null,
    agent_id: null,
    session_id: null,
    claim_number: null,
    deaths: 0,
    first_leased_at: null,
    last_result_id: null,
    runtime_id: null,
    sequence_id: id,
    check_run_id: slotAt,
    created: slotAt,
    ...endedAt(slotAt),
    check_session_id: one.kind === 'session' ? randomUUID() : null,
    test_session_id: null,
  };
}

function bruteForce(rows: readonly RunRow[], all: readonly SlotSample[], { from, to }: Span): Coverage {
  return coverageOf(
    rows.flatMap((row, index) => {
      if (row.check_session_id !== null) return [];
      const instants = Array.from({ length: row.slot_count }, (_, place) => row.slot_at + place * 10_000);
      const outcome = outcomeOf({ ...row, hasErrors: all[index]?.kind === 'error' });
      return [[outcome, instants.filter((at) => at >= from && at < to).length] as const];
    }),
  );
}

function partsOf({ evaluated, errors, missed, maintenance, cancelled, open }: Coverage): number {
  const sum = (counts: Readonly<Record<string, number>>) =>
    Object.values(counts).reduce((total, count) => total + count, 0);
  return evaluated + errors + sum(missed) + maintenance + sum(cancelled) + open;
}
