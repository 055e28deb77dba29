import { randomUUID } from 'node:crypto';
import type { Kysely, KyselyPlugin, PluginTransformQueryArgs } from 'kysely';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectPostgres } from '../../../src/platform/store/engine/connect-postgres.ts';
import { allScheduleParts } from '../../../src/platform/store/engine/schedule-parts.ts';
import type { Tables } from '../../../src/platform/store/tables.ts';
import { Checks } from '../../../src/service/checks/store.ts';
import { Leases } from '../../../src/service/runs/lease-store.ts';
import { copyChecks } from '../../bench/parts/many-checks.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  type ServiceHarness,
  until,
} from '../../helpers/service/service.ts';
import { emptyDatabase } from '../../helpers/service/shared-database.ts';

const noPostgres = whyNoPostgres();

/** With many due checks and queued runs, statements read the first ones and not all of them. */
describe.skipIf(noPostgres !== null)(`queues on PostgreSQL${noPostgres ? `: ${noPostgres}` : ''}`, () => {
  let harness: ServiceHarness;
  let clock: ManualClock;
  let client: pg.Client;
  let db: Kysely<Tables>;
  let dialect: ReturnType<typeof connectPostgres>['dialect'];

  beforeEach(async () => {
    const databaseUrl = await emptyDatabase();
    clock = new ManualClock();
    harness = await openHarness({ databaseUrl, clock });
    client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    ({ db, dialect } = connectPostgres({ databaseUrl, onPoolError: () => undefined }));
  });
  afterEach(async () => {
    await db.destroy();
    await client.end();
    await harness.close();
  });

  /** Does some work; returns PostgreSQL's plans of its statements. */
  async function plansOf(work: (recording: Kysely<Tables>) => Promise<unknown>): Promise<string> {
    const nodes: PluginTransformQueryArgs['node'][] = [];
    const plugin: KyselyPlugin = {
      transformQuery: ({ node }) => {
        nodes.push(node);
        return node;
      },
      transformResult: async ({ result }) => result,
    };
    await work(db.withPlugin(plugin));
    const lines: string[] = [];
    for (const node of nodes) {
      const { sql, parameters } = db.getExecutor().compileQuery(node, { queryId: '' } as never);
      const { rows } = await client.query(`explain ${sql}`, [...parameters]);
      lines.push(...rows.map((row) => String(row['QUERY PLAN'])));
    }
    return lines.join('\n');
  }

  it('finds due checks, and the next slot, when most of a large table has become due', async () => {
    await createLocation(harness, 'lab');
    const { id: templateId } = await createCheck(harness, { privateLocations: ['lab'] });
    const run = (text: string) => client.query(text);
    await copyChecks({ engine: 'postgres', templateId, count: 3_000, run });
    const now = clock.wallMs();
    const newest = `update checks set next_slot_at = ${now} - ordinal * 10
      from (select id, row_number() over (order by id) as ordinal from checks) as counted where counted.id = checks.id`;
    await run(newest);
    await run('analyze check_slots');
    const plans = await plansOf(async (recording) => {
      const checks = new Checks(recording, dialect);
      const due = await checks.due(allScheduleParts, now, 60);
      expect(due.length).toBe(60);
      const nextSlots = due.map(({ slots }) => slots.nextSlotAt ?? 0);
      expect(nextSlots).toEqual(nextSlots.toSorted((one, other) => one - other));
      expect(nextSlots[0]).toBe(now - 3_001 * 10);
      expect(await checks.nextSlotAt(allScheduleParts)).toBe(now - 3_001 * 10);
      const [part = -1] = allScheduleParts.slice(3);
      for (const { id } of await checks.due([part], now, 60)) {
        const { rows } = await client.query('select abs(hashtext($1) % 12) as part', [id]);
        expect(rows[0].part).toBe(part);
      }
    });
    expect(plans.match(/Index (Only )?Scan using check_slots_due/g)).toHaveLength(3);
    expect(plans).not.toMatch(/Seq Scan on check_slots|Bitmap/);
  });

  it('claims the first runs of a long queue', async () => {
    const location = await createLocation(harness, 'lab');
    const { id: checkId } = await createCheck(harness, { privateLocations: ['lab'] });
    harness.startScheduler();
    const run = await until('a run', async () => {
      clock.advance(2_000);
      return (await harness.store.runs.ofCheck(checkId))[0];
    });
    await harness.store.runs.insert(
      Array.from({ length: 2_000 }, (_none, index) => ({
        ...run,
        id: randomUUID(),
        slot_at: run.slot_at - index - 1,
      })),
    );
    await client.query('analyze runs');
    const now = clock.wallMs();
    const plans = await plansOf(async (recording) => {
      const claimed = await new Leases(recording, dialect).claim({
        ...{ locationId: location.id, lanes: [{ lane: 'probe', limit: 5 }], checkTypes: ['API', 'URL'] },
        ...{ needs: [], agentId: 'a', sessionId: 's', claimNumber: null, now, leaseUntil: now + 15_000 },
      });
      expect(claimed.map(({ slot_at: slotAt }) => run.slot_at - slotAt)).toEqual([
        2_000, 1_999, 1_998, 1_997, 1_996,
      ]);
    });
    expect(plans).toContain('Index Scan using runs_live_queue');
    expect(plans).not.toMatch(/Sort|Seq Scan on runs_live/);
  });
});
