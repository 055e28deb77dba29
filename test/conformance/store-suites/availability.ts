import { expect, it } from 'vitest';
import { createCheck } from '../../helpers/service.ts';
import { resultRow } from './result-samples.ts';
import type { StoreStage } from './stage.ts';

const dayMs = 86_400_000;

/** What counts as available: the same in analytics and in reports. */
export function availabilitySuite(stage: StoreStage): void {
  const ask = (checkId: string, query: string) =>
    stage.bench.call('GET', `/v1/analytics/url-monitors/${checkId}?${query}`);

  it('counts runs that ended by a fault of the monitoring neither way, as reports and pages do', async () => {
    await stage.start();
    const { store, accountId } = stage.bench;
    const now = stage.clock.wallMs();
    const kinds = { good: {}, bad: { hasFailures: true }, unknown: { hasErrors: true, responseTime: null } };
    const checkOf = async (name: string, ...ends: (keyof typeof kinds)[]) => {
      const check = await createCheck(stage.bench, { name });
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
      (await stage.bench.call('GET', '/v1/reporting')).body.map(
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
    const overview = await stage.bench.call('POST', '/v1/analytics/checks', { checkIds: ids });
    const byId = new Map(
      overview.body.map((one: { checkId: string; availability: number | null }) => [
        one.checkId,
        one.availability,
      ]),
    );
    expect(close(ids.map((id) => (byId.get(id) ?? null) as number | null))).toEqual(close(expected));
    // Sealed into columns it is the same.
    for (const id of ids) {
      await store.transaction((nouns) => nouns.resultColumns.sealNext(id, now + 3 * dayMs));
    }
    expect(await store.resultColumns.sealedUntil(ids[0] ?? '')).toBeGreaterThan(now - 6000);
    expect(close(await availability())).toEqual(close(expected));
    const failures = await ask(ids[0] ?? '', 'metrics=responseTime,availability&filterByStatus=success');
    expect(failures.body.series[0].data).toHaveLength(2);
  });
}
