import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import type { PicketProcess } from '../../helpers/picket-process.ts';
import { startClickHouse, whyNoClickHouse } from '../../helpers/service/clickhouse.ts';
import { expectSameAnswers, measuredCheck, tableOf } from '../../helpers/service/clickhouse-answers.ts';
import { openClickHouseGate } from '../../helpers/service/clickhouse-gate.ts';
import { openHarness, temporaryFolder, until } from '../../helpers/service/service.ts';
import { startServiceProcess } from '../../helpers/service/service-process.ts';

describe.skipIf(whyNoClickHouse() !== null)('the feed of ClickHouse', { timeout: 240_000 }, () => {
  it('receives rows once, whenever its process is killed', async () => {
    await using clickHouse = await startClickHouse();
    const url = await clickHouse.createDatabase();
    const own = temporaryFolder();
    const ownPath = join(own.path, 'picket.sqlite');
    await using gate = await openClickHouseGate(url);
    const harness = await openHarness({ folder: own.path });
    const checks = [];
    for (const count of [25_000, 9_000, 400]) checks.push(await measuredCheck(harness, ownPath, count));
    const sealed = new Map<string, number>();
    for (const { id } of checks) sealed.set(id, await harness.store.resultColumns.sealedUntil(id));
    await harness.close();
    const processes: PicketProcess[] = [];
    const start = () =>
      startServiceProcess(
        {
          BOOTSTRAP_API_KEY: 'bootstrap-key-of-the-tests',
          DATA_DIR: own.path,
          ANALYTICS_CLICKHOUSE_URL: gate.url,
        },
        (process) => processes.push(process),
      );
    const kill = async () => {
      const child = processes.at(-1)?.child;
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    };
    const isFed = () => {
      const database = new DatabaseSync(ownPath, { readOnly: true });
      const rows = database.prepare('select check_id, fed_until from fed_results').all();
      database.close();
      return rows.filter((row) => sealed.get(String(row.check_id)) === row.fed_until).length === sealed.size;
    };
    try {
      for (const [fate, passing] of [
        ['hold before', 0],
        ['hold after', 0],
        ['hold after', 1],
        ['hold before', 0],
        ['hold after', 0],
      ] as const) {
        const met = gate.next(fate, passing);
        await start();
        await met;
        expect(isFed()).toBe(false);
        await kill();
      }
      const stored = gate.inserts;
      void gate.next('pass');
      await start();
      await until('everything is fed', isFed, 60_000);
      expect(gate.inserts).toBeGreaterThan(stored);
      const log = processes.map((process) => process.output()).join('');
      expect(log).toContain('rows that were inserted behind the cursors are removed');
      expect(log).not.toMatch(/w(&|%26)rd/);
      await kill();
      const again = await openHarness({ folder: own.path });
      for (const { id, now } of checks) {
        await expectSameAnswers({ service: again, place: { path: ownPath }, url, id, now });
        const table = await tableOf(again, url);
        const rows = await clickHouse.ask(`select count() from ${table} final where check_id = '${id}'`);
        const until = sealed.get(id) ?? 0;
        const { frame } = await again.store.resultColumns.readSealed(id, { from: 0, to: until }, new Set());
        expect(Number(rows)).toBe(frame.rowCount);
      }
      await again.close();
    } finally {
      await kill();
      own.remove();
    }
  });
});
