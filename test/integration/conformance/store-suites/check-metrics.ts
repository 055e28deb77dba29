import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Store } from '../../../../src/platform/store/store.ts';
import { Folding } from '../../../../src/service/check-metrics/folding.ts';
import { LiveTotals } from '../../../../src/service/check-metrics/live-totals.ts';
import { shardCount } from '../../../../src/service/check-metrics/shards.ts';
import {
  addRun,
  type EndedRun,
  noTotals,
  type Totals,
} from '../../../../src/service/check-metrics/totals.ts';
import { createCheck, metricsToken, reportOf, until } from '../../../helpers/service/service.ts';
import { ledgerRow } from './coverage.ts';
import { httpDetail, resultRow } from './result-samples.ts';
import type { StoreStage } from './stage.ts';

const foldEveryMs = 120_000;

/** A store whose leader transactions fail one after the other, as if killed. */
function failing(store: Store, fails: () => boolean): Store {
  return {
    ...store,
    leaderTransaction: (work) =>
      store.leaderTransaction(async (repositories) => {
        const done = await work(repositories);
        if (fails()) throw new Error('killed');
        return done;
      }),
  };
}

/** Metrics of each check: totals equal those of the runs, whatever happens during the folding. */
export function checkMetricsSuite(stage: StoreStage): void {
  const scrape = (
    query = '',
    key: string | null = stage.harness.key,
    accept = 'application/openmetrics-text',
  ) => stage.harness.call('GET', `/metrics/checks${query}`, undefined, { key, headers: { accept } });

  const measure = async (checkId: string, fields: Parameters<typeof reportOf>[1] = {}) => {
    await stage.queueNextSlot(checkId);
    const [run] = await stage.agent.claim();
    if (!run) throw new Error('nothing was leased');
    stage.clock.advance(10);
    expect(
      await stage.agent.report([
        reportOf(run, { detail: httpDetail(200, { wait: 1, dns: 20, tcp: 1, firstByte: 7 }), ...fields }),
      ]),
    ).toEqual(['accepted']);
    // A scrape within seconds may return cached values.
    stage.clock.advance(5_000);
  };

  /** Sums of the runs in the ledger, read at once. */
  const expected = async (store: Store, since: number): Promise<Map<string, Totals>> => {
    const runs: EndedRun[] = await store.checkTotals.endedRunsAfter(
      { ended: since, runId: '' },
      Number.MAX_SAFE_INTEGER,
      100_000,
    );
    const totals = new Map<string, Totals>();
    for (const run of runs) {
      const key = `${run.check_id} ${run.slot_location}`;
      const own = totals.get(key) ?? noTotals();
      totals.set(key, own);
      addRun(own, run);
    }
    return totals;
  };

  const live = async (totals: LiveTotals, now: number): Promise<Map<string, Totals>> => {
    await totals.refresh(now);
    return new Map(
      [...totals.byCheck().values()]
        .flat()
        .map(({ checkId, location, totals: own }) => [`${checkId} ${location}`, own]),
    );
  };

  /** Stores a run that ends now, with its result. */
  const end = async (checkId: string, kind: 'passed' | 'no-agent', responseTime: number) => {
    const { store, accountId } = stage.harness;
    stage.clock.advance(700);
    const start = stage.clock.wallMs();
    const one = { minute: 0, location: 'lab', kind, slotCount: 1 };
    const run = ledgerRow({ checkId, accountId, start, one });
    await store.transaction(async (repositories) => {
      await repositories.runs.insert([run]);
      if (kind === 'no-agent') return;
      const result = resultRow(checkId, accountId, start, { responseTime, dns: 3 });
      await repositories.results.insert([{ ...result, run_id: run.id }]);
    });
  };

  describe('metrics of each check', () => {
    it('shows state, outcomes, times and tags of the checks of an account, in both formats', async () => {
      await stage.start();
      const check = await createCheck(stage.harness, {
        name: 'shop "one"\\',
        privateLocations: ['lab'],
        tags: ['env:prod', 'team=web', 'plain'],
        ...{ retryStrategy: null, doubleCheck: false },
      });
      expect((await scrape()).body).not.toContain('picket_check_runs_total{');
      await measure(check.id);
      await measure(check.id, {
        responseTimeMs: 3200.5,
        failure: { owner: 'target', code: 'ASSERTION_FAILED', message: 'no' } as never,
        certificateExpiresAt: 1_800_000_000_000,
      });
      const own = `check="${check.id}",name="shop \\"one\\"\\\\"`;
      const at = `${own},location="lab"`;
      const answer = await scrape();
      expect(answer.headers['content-type']).toMatch(/^application\/openmetrics-text; version=1\.0\.0/);
      const lines = String(answer.body).split('\n');
      expect(lines).toEqual(
        expect.arrayContaining([
          `picket_check_info{${own},account="${stage.harness.accountId}",type="URL",group="",target="target.test",tags=",env:prod,plain,team=web,",tag_env="prod",tag_team="web"} 1`,
          `picket_check_activated{${own}} 1`,
          `picket_check_up{${own}} 0`,
          `picket_check_error{${own}} 0`,
          `picket_check_runs_total{${at},outcome="passed"} 1`,
          `picket_check_runs_total{${at},outcome="failed"} 1`,
          `picket_check_runs_total{${at},outcome="missed"} 0`,
          `picket_check_response_seconds_bucket{${at},le="0.1"} 1`,
          `picket_check_response_seconds_bucket{${at},le="5.0"} 2`,
          `picket_check_response_seconds_bucket{${at},le="+Inf"} 2`,
          `picket_check_response_seconds_sum{${at}} 3.3005`,
          `picket_check_response_seconds_count{${at}} 2`,
          `picket_check_phase_seconds_sum{${at},phase="dns"} 0.04`,
          `picket_check_phase_seconds_count{${at},phase="dns"} 2`,
          `picket_check_certificate_expiry_timestamp_seconds{${own}} 1800000000`,
          `picket_check_last_response_seconds{${at}} 3.2005`,
          'picket_check_metrics_cut 0',
        ]),
      );
      expect(lines.slice(-2)).toEqual(['# EOF', '']);
      const older = await scrape('?phases=buckets', stage.harness.key, '*/*');
      expect(older.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
      expect(older.body).toContain('# TYPE picket_check_runs_total counter\n');
      expect(older.body).toContain(`picket_check_phase_seconds_bucket{${at},phase="dns",le="0.05"} 2\n`);
      expect(older.body).not.toContain('# EOF');
      const aliases = await scrape('?names=blackbox');
      const alias = at.replace('name=', 'instance=');
      for (const line of [
        `probe_success{${alias}} 0`,
        `probe_duration_seconds{${alias}} 3.2005`,
        `probe_http_status_code{${alias}} 200`,
        `probe_http_duration_seconds{${alias},phase="resolve"} 0.02`,
        `probe_ssl_earliest_cert_expiry{${alias}} 1800000000`,
      ]) {
        expect(String(aliases.body).split('\n')).toContain(line);
      }
    });

    it('continues during an open transaction, which a database dates to the microsecond', async () => {
      await stage.start();
      const { store } = stage.harness;
      const { promise, resolve } = Promise.withResolvers<void>();
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
      // It writes, so that the transaction is open on either engine.
      const open = store.transaction(async ({ checkTotals }) => {
        await checkTotals.begin(shardCount, 1_000);
        begin();
        await promise;
      });
      await begun;
      const settledMs = await store.checkTotals.settledUntil(Date.now());
      resolve();
      await open;
      expect(Number.isInteger(settledMs)).toBe(true);
    });

    it('accepts the keys of /metrics, filters by tags, and refuses unknown parameters', async () => {
      await stage.start();
      const { harness } = stage;
      const check = await createCheck(harness, { privateLocations: ['lab'], tags: ['a'] });
      const other = await harness.addAccount();
      const named = `picket_check_info{check="${check.id}"`;
      expect((await scrape()).body).toContain(named);
      expect((await scrape('', metricsToken)).body).toContain(named);
      expect((await scrape('', other.key)).body).not.toContain(named);
      expect((await scrape('?tags=b,a')).body).toContain(named);
      expect((await scrape('?tags=b')).body).not.toContain(named);
      expect((await scrape('', null)).status).toBe(401);
      expect((await scrape('', stage.location.key)).status).toBe(401);
      for (const query of ['?tag=a', '?names=x', '?phases=all'])
        expect((await scrape(query)).status).toBe(400);
    });

    it('counts each run once, across kills while totals are written, restarts and other processes', async () => {
      await stage.start();
      const { clock } = stage;
      const checks = [];
      for (const name of ['one', 'two', 'three']) {
        checks.push(await createCheck(stage.harness, { name, activated: false }));
      }
      await until('the process leads', () => stage.harness.store.isLeader());
      const since = clock.wallMs();
      const [first, second] = [new LiveTotals(stage.harness.store), new LiveTotals(stage.harness.store)];
      await first.refresh(clock.wallMs());
      let failures = 0;
      for (let round = 0; round < 6; round += 1) {
        for (const { id } of checks) await end(id, 'passed', 0.1 + round * 0.7);
        await end(checks[round % 3].id, 'no-agent', 0);
        // Some transactions of a fold succeed, then one fails.
        let left = (round * 11) % shardCount;
        const folding = new Folding({
          store: failing(stage.harness.store, () => {
            left -= 1;
            return left < 0;
          }),
          ...{ clock, foldEveryMs, runsPerRead: 2 },
        });
        clock.advance(foldEveryMs);
        await folding.turn().catch(() => {
          failures += 1;
        });
        const all = await expected(stage.harness.store, since);
        for (const totals of [
          first,
          ...(round % 2 === 0 ? [second] : []),
          new LiveTotals(stage.harness.store),
        ])
          expect(await live(totals, clock.wallMs())).toEqual(all);
      }
      expect(failures).toBeGreaterThan(2);
      const folding = new Folding({ store: stage.harness.store, clock, foldEveryMs });
      clock.advance(10 * foldEveryMs);
      for (let turn = 0; turn < 10; turn += 1) await folding.turn();
      const stored = await stage.harness.store.checkTotals.totalsOf(checks.map(({ id }) => id));
      expect(
        new Map(stored.map(({ checkId, location, totals }) => [`${checkId} ${location}`, totals])),
      ).toEqual(await expected(stage.harness.store, since));
    });

    it('has equal sums in any order and in any parts', () => {
      const run = fc.record({
        state: fc.constantFrom('final' as const, 'missed' as const),
        responseTime: fc.double({ min: 0, max: 90_000, noNaN: true }),
        ended: fc.integer({ min: 0, max: 1000 }),
      });
      fc.assert(
        fc.property(fc.array(run), fc.infiniteStream(fc.nat()), (all, order) => {
          const runs = all.map(({ state, responseTime, ended }, index) => ({
            ...{ id: String(index), check_id: 'c', slot_location: 'lab', slot_count: 1, ended, state },
            ...{ check_session_id: null, reason: 'no-agent', check_type: 'URL', code: null },
            ...{ has_failures: 0 as const, has_errors: 0 as const, is_degraded: 0 as const },
            response_time: responseTime,
            measured: JSON.stringify([[200, { dns: responseTime / 3 }]]),
          }));
          const shuffled = runs
            .map((one) => [order.next().value ?? 0, one] as const)
            .sort(([left], [right]) => left - right)
            .map(([, one]) => one);
          const [whole, other] = [noTotals(), noTotals()];
          for (const one of runs) addRun(whole, one);
          for (const one of shuffled) addRun(other, one);
          expect({ ...other, last: null }).toEqual({ ...whole, last: null });
          expect(other.last?.ended).toBe(whole.last?.ended);
        }),
      );
    });
  });
}
