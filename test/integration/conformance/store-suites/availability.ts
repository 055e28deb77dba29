import { expect, it } from 'vitest';
import { createCheck } from '../../../helpers/service/service.ts';
import { resultRow } from './result-samples.ts';
import type { StoreStage } from './stage.ts';

const dayMs = 86_400_000;

/** Availability is the same in analytics and in reports. */
export function availabilitySuite(stage: StoreStage): void {
  const ask = (checkId: string, query: string) =>
    stage.harness.call('GET', `/v1/analytics/url-monitors/${checkId}?${query}`);

  it('ignores runs that ended by a fault of the monitoring, like reports and pages', async () => {
    await stage.start();
    const { store, accountId } = stage.harness;
    const now = stage.clock.wallMs();
    const kinds = { good: {}, bad: { hasFailures: true }, unknown: { hasErrors: true, responseTime: null } };
    const checkOf = async (name: string, ...ends: (keyof typeof kinds)[]) => {
      const check = await createCheck(stage.harness, { name });
      const rows = ends.map((end, index) =>
        resultRow(check.id, accountId, now - (index + 1) * 1000, kinds[end]),
      );
      await store.results.insert(rows);
      return check.id as string;
    };
    const ids = [
      await checkOf('a mixed', 'good', 'good', 'bad', 'unknown', 'unknown'),
      await checkOf('b unknown', 'unknown'),
      await checkOf('c failing', 'bad', 'unknown'),
      await checkOf('d nothing'),
    ];
    const report = async () =>
      (await stage.harness.call('GET', '/v1/reporting')).body.map(
        ({ aggregate }: { aggregate: { successRatio: number | null } }) => aggregate.successRatio,
      );
    const availability = async () =>
      Promise.all(
        ids.map(
          async (id) => (await ask(id, 'metrics=availability')).body.series[0].data[0]?.availability ?? null,
        ),
      );
    const expected = [(2 / 3) * 100, null, 0, null];
    const close = (values: (number | null)[]) =>
      values.map((value) => (value === null ? null : Number(value.toFixed(9))));
    expect(close(await report())).toEqual(close(expected));
    expect(close(await availability())).toEqual(close(expected));
    const overview = await stage.harness.call('POST', '/v1/analytics/checks', { checkIds: ids });
    const byId = new Map(
      overview.body.map((one: { checkId: string; availability: number | null }) => [
        one.checkId,
        one.availability,
      ]),
    );
    expect(close(ids.map((id) => (byId.get(id) ?? null) as number | null))).toEqual(close(expected));
    // Sealed columns give the same values.
    for (const id of ids) {
      await store.transaction((repositories) => repositories.resultColumns.sealNext(id, now + 3 * dayMs));
    }
    expect(await store.resultColumns.sealedUntil(ids[0] ?? '')).toBeGreaterThan(now - 6000);
    expect(close(await availability())).toEqual(close(expected));
    const failures = await ask(ids[0] ?? '', 'metrics=responseTime,availability&filterByStatus=success');
    expect(failures.body.series[0].data).toHaveLength(2);
  });

  it('measures the same times in analytics and in reports, and none without timing', async () => {
    await stage.start();
    const { store, accountId } = stage.harness;
    const now = stage.clock.wallMs();
    const check = await createCheck(stage.harness, { name: 'a' });
    const rows = Array.from({ length: 137 }, (_, index) =>
      resultRow(check.id, accountId, now - (index + 1) * 1000, {
        responseTime: (index * 7919) % 1000,
        hasFailures: index % 10 === 0,
        hasErrors: index % 13 === 0,
      }),
    );
    // Runs that the monitoring itself spoilt do not count as measured.
    const measured = rows.map((row) => (row.has_errors === 1 ? { ...row, measured: null } : row));
    await store.results.insert(measured);
    const heartbeat = { period: 1, periodUnit: 'days', grace: 1, graceUnit: 'hours' };
    const nightly = await stage.harness.call('POST', '/v1/checks/heartbeat', { name: 'b', heartbeat });
    await stage.harness.call('GET', nightly.body.heartbeat.pingUrl, undefined, { key: null });
    const report = (await stage.harness.call('GET', '/v1/reporting')).body;
    const metrics = ['availability', 'responseTime_avg', 'responseTime_p95', 'responseTime_p99'];
    const [row] = (await ask(check.id, `metrics=${metrics}`)).body.series[0].data;
    const { successRatio, avg, p95, p99 } = report[0].aggregate;
    expect(avg).toBeCloseTo(row.responseTime_avg, 9);
    expect(successRatio).toBeCloseTo(row.availability, 9);
    expect([p95, p99]).toEqual([row.responseTime_p95, row.responseTime_p99]);
    expect(report[1].aggregate).toEqual({
      successRatio: 100,
      avg: null,
      p95: null,
      p99: null,
      coverage: expect.objectContaining({ due: 1, evaluated: 1 }),
    });
  });
}
