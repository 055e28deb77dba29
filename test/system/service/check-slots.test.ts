import { type Kysely, sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectPostgres } from '../../../src/platform/store/engine/connect-postgres.ts';
import { allScheduleParts } from '../../../src/platform/store/engine/schedule-parts.ts';
import type { Tables } from '../../../src/platform/store/tables.ts';
import { withGroup } from '../../../src/service/checks/effective-check.ts';
import { type Check, Checks } from '../../../src/service/checks/store.ts';
import { fromRow } from '../../../src/service/checks/stored-definition.ts';
import { ServiceMetrics } from '../../../src/service/metrics/metrics.ts';
import { RunNumbers, runsDue } from '../../../src/service/runs/due-runs.ts';
import { Scheduler } from '../../../src/service/runs/scheduler.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  quietLogger,
  type ServiceHarness,
  until,
} from '../../helpers/service/service.ts';
import { emptyDatabase } from '../../helpers/service/shared-database.ts';

const noPostgres = whyNoPostgres();
const minuteMs = 60_000;

describe.skipIf(noPostgres !== null)(`slots on PostgreSQL${noPostgres ? `: ${noPostgres}` : ''}`, () => {
  let harness: ServiceHarness;
  let clock: ManualClock;
  let scheduler: Scheduler;
  let db: Kysely<Tables>;
  let dialect: ReturnType<typeof connectPostgres>['dialect'];

  beforeEach(async () => {
    const databaseUrl = await emptyDatabase();
    clock = new ManualClock();
    harness = await openHarness({ databaseUrl, clock });
    ({ db, dialect } = connectPostgres({ databaseUrl, onPoolError: () => undefined }));
    scheduler = new Scheduler({
      ...{ store: harness.store, clock, logger: quietLogger, metrics: new ServiceMetrics() },
      recordAgentless: async () => false,
    });
    await createLocation(harness, 'lab');
  });
  afterEach(async () => {
    await db.destroy();
    await harness.close();
  });

  const nextSlotOf = async (id: string) =>
    (await harness.store.checks.find(harness.accountId, id))?.slots.nextSlotAt ?? 0;
  const waitingForLocks = async () =>
    (await sql`select from pg_locks where not granted and locktype in ('transactionid', 'tuple')`.execute(db))
      .rows.length;
  const rowOf = (id: string) =>
    db.selectFrom('checks').selectAll().where('id', '=', id).executeTakeFirstOrThrow();

  it('are taken without a new version of the check, and older builds next to this one add none', async () => {
    const { id } = await createCheck(harness, { frequency: 1, privateLocations: ['lab'] });
    const first = await nextSlotOf(id);
    const before = await rowOf(id);
    for (const slotAt of [first, first + minuteMs, first + 2 * minuteMs]) {
      clock.advance(slotAt - clock.wallMs());
      await scheduler.turn();
    }
    expect(await nextSlotOf(id)).toBe(first + 3 * minuteMs);
    expect(await rowOf(id)).toEqual(before);
    const slots = async () => (await harness.store.runs.ofCheck(id)).map(({ slot_at: slotAt }) => slotAt);
    const taken = [first, first + minuteMs, first + 2 * minuteMs];
    expect(await slots()).toEqual(taken);

    // An older build takes over: for it, three slots are due.
    const { next_slot_at: staleAt } = await rowOf(id);
    expect(staleAt).toBe(first);
    const older = withGroup(fromRow({ ...(await rowOf(id)), due_at: staleAt }), undefined);
    const now = clock.wallMs();
    const { rows, planned } = runsDue(older, new Map(), new RunNumbers(), {
      ...{ now, isPaused: () => false, isFailing: false },
    });
    expect(rows.map((row) => [row.slot_at, row.slot_count])).toEqual([
      [first, 2],
      [first + 2 * minuteMs, 1],
    ]);
    expect(await harness.store.runs.insert(rows)).toEqual([]);
    expect(await slots()).toEqual(taken);
    // It goes on from there, and this build follows.
    await db
      .updateTable('checks')
      .set({ next_slot_at: (planned.nextSlotAt ?? 0) + minuteMs })
      .where('id', '=', id)
      .execute();
    expect(await nextSlotOf(id)).toBe(first + 4 * minuteMs);
  });

  it('are left to whoever changes the check, and a change waits for a turn that has taken them', async () => {
    const { id } = await createCheck(harness, { frequency: 1, privateLocations: ['lab'] });
    const now = await nextSlotOf(id);
    const dueIds = async (on: Kysely<Tables>) =>
      (await new Checks(on, dialect).due(allScheduleParts, now, 10)).map((check) => check.id);
    await db.transaction().execute(async (change) => {
      expect(await new Checks(change, dialect).findForUpdate(harness.accountId, id)).toBeDefined();
      expect(await dueIds(db)).toEqual([]);
    });
    expect(await dueIds(db)).toEqual([id]);
    let changed: Promise<Check | undefined> | undefined;
    await db.transaction().execute(async (turn) => {
      expect(await dueIds(turn)).toEqual([id]);
      changed = db
        .transaction()
        .execute((change) => new Checks(change, dialect).findForUpdate(harness.accountId, id));
      await until('the change waits', async () => (await waitingForLocks()) > 0);
      await new Checks(turn, dialect).setNextSlots([[id, now + minuteMs]]);
    });
    expect((await changed)?.slots.nextSlotAt).toBe(now + minuteMs);
  });

  it('of checks without a plain grid are in both rows', async () => {
    const { id } = await createCheck(harness, {
      ...{ frequency: 60, frequencyWhileFailing: 1, privateLocations: ['lab'] },
    });
    const before = await nextSlotOf(id);
    clock.advance(before - clock.wallMs());
    await scheduler.turn();
    expect(await nextSlotOf(id)).toBeGreaterThan(before);
    expect((await rowOf(id)).next_slot_at).toBe(await nextSlotOf(id));
  });
});
