import fc from 'fast-check';
import { expect, it } from 'vitest';
import { notPlanned } from '../../../../src/service/checks/timing/slot-state.ts';
import { createCheck } from '../../../helpers/service/service.ts';
import { resultRow } from './result-samples.ts';
import type { StoreStage } from './stage.ts';

const hourMs = 3_600_000;
const spanMs = 40 * hourMs;

const sample = fc.record({
  atMs: fc.integer({ min: 0, max: spanMs - 1 }),
  verdict: fc.constantFrom('passed', 'assertion', 'refused', 'error'),
  responseTime: fc.double({ min: 0, max: 30_000, noNaN: true }),
});
const verdicts = {
  passed: { has_failures: 0, has_errors: 0, code: null },
  assertion: { has_failures: 1, has_errors: 0, code: 'ASSERTION_FAILED' },
  // Its response was not measured.
  refused: { has_failures: 1, has_errors: 0, code: 'CONNECTION_REFUSED', measured: '[[0,{}]]' },
  error: { has_failures: 0, has_errors: 1, code: 'RUNNER_CRASHED' },
} as const;

/** Reports about many checks at once. */
export function reportSuite(stage: StoreStage): void {
  it('reports the same as a brute-force count of the results, sealed or not', async () => {
    await stage.start();
    const { store, accountId } = stage.harness;
    const base = stage.clock.wallMs() - spanMs;
    await fc.assert(
      fc.asyncProperty(
        fc.array(sample, { maxLength: 40 }),
        fc.integer({ min: 0, max: spanMs }),
        fc.integer({ min: 0, max: spanMs }),
        fc.array(fc.integer({ min: 0, max: spanMs }), { maxLength: 3 }),
        async (samples, from, length, seals) => {
          const checkId = (await createCheck(stage.harness)).id;
          await store.results.insert(
            samples.map(({ atMs, verdict, responseTime }) => ({
              ...resultRow(checkId, accountId, base + atMs, { responseTime }),
              ...verdicts[verdict],
            })),
          );
          for (const seal of seals) {
            await store.transaction(({ resultColumns }) => resultColumns.sealNext(checkId, base + seal));
          }
          const window = `from=${base + from}&to=${base + from + length}`;
          const { body } = await stage.harness.call('GET', `/v1/reporting?${window}`);
          const counted = samples.filter(
            ({ atMs, verdict }) => atMs >= from && atMs < from + length && verdict !== 'error',
          );
          const times = counted
            .filter(({ verdict }) => verdict !== 'refused')
            .map(({ responseTime }) => responseTime)
            .sort((left, right) => left - right);
          const { aggregate } = body.find((one: { checkId: string }) => one.checkId === checkId);
          const rank = (share: number) => times[Math.ceil(share * times.length) - 1] ?? null;
          expect([aggregate.p95, aggregate.p99]).toEqual([rank(0.95), rank(0.99)]);
          const passed = counted.filter(({ verdict }) => verdict === 'passed').length;
          if (counted.length === 0) expect(aggregate.successRatio).toBe(null);
          else expect(aggregate.successRatio).toBeCloseTo((100 * passed) / counted.length, 9);
          await stage.harness.call('DELETE', `/v1/checks/${checkId}`);
        },
      ),
      { numRuns: 25 },
    );
  });

  it('shows at most 500 checks on a page of a public dashboard, and the others on further pages', async () => {
    await stage.start();
    const { store, call } = stage.harness;
    await createCheck(stage.harness, { tags: ['many'], activated: true });
    const [check] = (await store.checks.list(stage.harness.accountId, {}, { limit: 1, offset: 0 })).checks;
    if (!check) throw new Error('no check');
    for (let index = 0; index < 520; index += 1) {
      await store.checks.insert(
        `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
        check.accountId,
        check.checkType,
        {
          name: `check ${index}`,
          activated: true,
          muted: false,
          groupId: null,
          groupOrder: null,
          tags: ['many'],
          locations: [],
          definition: check.definition,
          slots: notPlanned,
          intervalMs: 60_000,
          runParallel: false,
          url: null,
        },
        stage.clock.wallMs(),
      );
    }
    await call('POST', '/v1/dashboards', { header: 'All', paginate: false, customUrl: 'everything' });
    const pages = await Promise.all(
      [1, 2, 3].map((page) =>
        call('GET', `/v1/public/dashboards/everything?page=${page}`, undefined, { key: null }),
      ),
    );
    expect(pages.map(({ body }) => body.checks.length)).toEqual([500, 21, 0]);
    expect(pages[0]?.body.pagination).toMatchObject({ pages: 2, total: 521 });
    const again = await call('GET', '/v1/public/dashboards/everything', undefined, { key: null });
    expect(again.body).toEqual(pages[0]?.body);
  });
}
