import fc from 'fast-check';
import { expect, it } from 'vitest';
import { failure } from '../../../../src/checks/contract/failure.ts';
import { HeartbeatRecorder } from '../../../../src/service/heartbeats/recorder.ts';
import { createCheck, createLocation, reportOf } from '../../../helpers/service/service.ts';
import { httpDetail, resultRow, type Sample, sample } from './result-samples.ts';
import type { StoreStage } from './stage.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The nearest rank, by sorting; the service must return the same. */
function bruteForce(values: readonly number[], ending: string): number | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((left, right) => left - right);
  const sum = values.reduce((total, value) => total + value, 0);
  const mean = sum / values.length;
  const rank = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? null;
  switch (ending) {
    case 'avg':
      return mean;
    case 'sum':
      return sum;
    case 'min':
      return sorted[0] ?? null;
    case 'max':
      return sorted.at(-1) ?? null;
    case 'stddev':
      return Math.sqrt(values.reduce((total, value) => total + (value - mean) ** 2, 0) / values.length);
    case 'median':
      return rank(0.5);
    default:
      return rank(Number(ending.slice(1)) / 100);
  }
}

const endings = ['avg', 'max', 'median', 'min', 'p50', 'p90', 'p95', 'p99', 'stddev', 'sum'];
const metrics = [
  ...endings.flatMap((ending) => [`responseTime_${ending}`, `dns_${ending}`]),
  'availability',
  'retries',
];

function expectedRow(samples: readonly Sample[]): Record<string, number | null> {
  const values = (name: 'responseTime' | 'dns') =>
    samples.flatMap((one) => (one[name] === null ? [] : [one[name]]));
  const telling = samples.filter(({ hasErrors }) => !hasErrors);
  const passed = telling.filter(({ hasFailures }) => !hasFailures).length;
  return {
    ...Object.fromEntries(
      endings.flatMap((ending) => [
        [`responseTime_${ending}`, bruteForce(values('responseTime'), ending)],
        [`dns_${ending}`, bruteForce(values('dns'), ending)],
      ]),
    ),
    availability: telling.length === 0 ? null : (passed / telling.length) * 100,
    retries: samples.reduce((sum, one) => sum + one.attempts, 0),
  };
}

function expectRow(row: Record<string, number | string | null>, expected: Record<string, number | null>) {
  for (const [key, value] of Object.entries(expected)) {
    if (value === null) expect(row[key], key).toBeNull();
    else
      expect(Math.abs(Number(row[key]) - value), key).toBeLessThanOrEqual(
        1e-9 * Math.max(1, Math.abs(value)),
      );
  }
}

/** Analytics over HTTP: the same results as a direct computation, whatever is sealed already. */
export function analyticsSuite(stage: StoreStage): void {
  async function ask(
    checkId: string,
    query: Readonly<Record<string, string | number>>,
    route = 'url-monitors',
  ) {
    const text = new URLSearchParams(
      Object.entries(query).map(([key, value]): [string, string] => [key, String(value)]),
    );
    return stage.harness.call('GET', `/v1/analytics/${route}/${checkId}?${text}`);
  }

  it('agrees with a brute-force computation on random results, windows, groups and intervals', async () => {
    await stage.start();
    const { store, accountId } = stage.harness;
    const spanMs = 5 * dayMs;
    const question = fc.record({
      samples: fc.array(sample(spanMs), { maxLength: 200 }),
      from: fc.integer({ min: -hourMs, max: spanMs }),
      lengthMs: fc.integer({ min: 0, max: spanMs }),
      groupBy: fc.constantFrom(null, 'runLocation', 'statusCode'),
      intervalMinutes: fc.option(fc.integer({ min: 1, max: 3000 })),
      status: fc.constantFrom(null, 'success', 'failure', 'success,failure'),
      page: fc.integer({ min: 1, max: 2 }),
      sealAfterMs: fc.array(fc.integer({ min: 0, max: 8 * dayMs }), { maxLength: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(question, async ({ samples, from, lengthMs, ...rest }) => {
        const { groupBy, intervalMinutes, status, page, sealAfterMs } = rest;
        const base = Math.floor(stage.clock.wallMs() / 60_000) * 60_000 - 10 * dayMs;
        const checkId = (await createCheck(stage.harness)).id;
        await store.results.insert(samples.map((one) => resultRow(checkId, accountId, base + one.atMs, one)));
        for (const afterMs of [...sealAfterMs].sort((left, right) => left - right)) {
          await store.transaction((repositories) =>
            repositories.resultColumns.sealNext(checkId, base + afterMs),
          );
        }
        const { body, status: code } = await ask(checkId, {
          from: new Date(base + from).toISOString(),
          to: new Date(base + from + lengthMs).toISOString(),
          metrics: metrics.join(','),
          limit: 7,
          page,
          ...(groupBy ? { groupBy } : {}),
          ...(intervalMinutes === null ? {} : { aggregationInterval: intervalMinutes }),
          ...(status ? { filterByStatus: status } : {}),
        });
        expect(code).toBe(200);
        const inWindow = samples
          .filter((one) => one.atMs >= from && one.atMs < from + lengthMs)
          .filter(
            (one) =>
              status === null ||
              (!one.hasErrors && status.split(',').includes(one.hasFailures ? 'failure' : 'success')),
          )
          .filter((one) => groupBy !== 'statusCode' || one.statusCode !== null);
        const keyOf = (one: Sample) =>
          groupBy === null ? '' : String(groupBy === 'statusCode' ? one.statusCode : one.location);
        const groups = [...Map.groupBy(inWindow, keyOf)].sort(([left], [right]) => (left < right ? -1 : 1));
        if (groups.length === 0) {
          expect(body.series).toEqual([{ data: [] }]);
          return;
        }
        expect(body.series).toHaveLength(groups.length);
        groups.forEach(([key, members], index) => {
          const series = body.series[index];
          if (groupBy) expect(String(series[groupBy])).toBe(key);
          const widthMs = (intervalMinutes ?? 1) * 60_000;
          const startOf = (one: Sample) =>
            intervalMinutes === null ? 0 : Math.floor((base + one.atMs) / widthMs) * widthMs;
          const buckets = [...Map.groupBy(members, startOf)].sort(([left], [right]) => left - right);
          const shown = buckets.slice((page - 1) * 7, page * 7);
          expect(series.data).toHaveLength(shown.length);
          shown.forEach(([start, those], place) => {
            const row = series.data[place];
            if (intervalMinutes !== null) expect(row.timestamp).toBe(new Date(start).toISOString());
            if (groupBy) expect(row[groupBy]).toBe(series[groupBy]);
            expectRow(row, expectedRow(those));
          });
        });
      }),
      { numRuns: 40 },
    );
  });

  it('shows the values of each result if a metric has no suffix', async () => {
    await stage.start();
    const { store, accountId } = stage.harness;
    const checkId = (await createCheck(stage.harness)).id;
    const now = stage.clock.wallMs();
    const rows = [3, 2, 1].map((n) =>
      resultRow(checkId, accountId, now - n * 1000, {
        responseTime: n === 2 ? null : n * 10,
        hasFailures: n === 2,
        attempts: n,
      }),
    );
    await store.results.insert(rows);
    await store.results.insert([
      { ...resultRow(checkId, accountId, now - 500, { responseTime: 99 }), result_type: 'ATTEMPT' },
    ]);
    const { body } = await ask(checkId, { metrics: 'responseTime,availability,retries,responseTime_p95' });
    expect(body.series).toEqual([
      {
        data: [
          {
            timestamp: iso(now - 3000),
            responseTime: 30,
            availability: 100,
            retries: 3,
            responseTime_p95: 30,
          },
          {
            timestamp: iso(now - 2000),
            responseTime: null,
            availability: 0,
            retries: 2,
            responseTime_p95: null,
          },
          {
            timestamp: iso(now - 1000),
            responseTime: 10,
            availability: 100,
            retries: 1,
            responseTime_p95: 10,
          },
        ],
      },
    ]);
    expect(body.metadata).toEqual({
      responseTime: { unit: 'ms', label: 'Response time' },
      availability: { unit: 'percentage', label: 'Availability' },
      retries: { unit: 'count', label: 'Retries' },
      responseTime_p95: { unit: 'ms', label: 'Response time', aggregation: 'p95' },
    });
    const second = await ask(checkId, { metrics: 'responseTime', limit: 1, page: 2 });
    expect(second.body.series).toEqual([{ data: [{ timestamp: iso(now - 2000), responseTime: null }] }]);
    expect(second.body.pagination).toEqual({ page: 2, limit: 1 });
  });

  it('matches the reports of agents: the phases of responses, and no time without one', async () => {
    await stage.start();
    const fields = { privateLocations: ['lab'], retryStrategy: null, doubleCheck: false };
    const checkId = (await createCheck(stage.harness, fields)).id;
    const report = async (fields: object) => {
      await stage.queueNextSlot(checkId);
      const [run] = await stage.agent.claim();
      if (!run) throw new Error('nothing was leased');
      expect(await stage.agent.report([reportOf(run, fields)])).toEqual(['accepted']);
    };
    await report({ responseTimeMs: 120, detail: httpDetail(204, { wait: 1, dns: 2, tcp: 3 }) });
    await report({ responseTimeMs: 80, failure: failure('CONNECTION_REFUSED', 'connect ECONNREFUSED') });
    const { body } = await ask(checkId, { metrics: 'responseTime_max,dns_avg,firstByte_avg,availability' });
    expect(body.series).toEqual([
      { data: [{ responseTime_max: 120, dns_avg: 2, firstByte_avg: 4, availability: 50 }] },
    ]);
    const byCode = await ask(checkId, { metrics: 'retries', groupBy: 'statusCode' });
    expect(byCode.body.series).toEqual([{ statusCode: 204, data: [{ statusCode: 204, retries: 0 }] }]);
  });

  it('splits results of scripts by page, and counts values of the whole run once', async () => {
    await stage.start();
    const { store, accountId } = stage.harness;
    const answer = await stage.harness.call('POST', '/v1/checks/browser', {
      name: 'shop',
      frequency: 10,
      script: 'x',
    });
    const checkId = answer.body.id;
    const now = stage.clock.wallMs();
    const run = (ago: number, responseTime: number, pages: [string, object][]) => ({
      ...resultRow(checkId, accountId, now - ago, {}),
      check_type: 'BROWSER',
      measured: JSON.stringify(pages.map(([url, vitals]) => [url, { responseTime, ...vitals }])),
    });
    await store.results.insert([
      run(2000, 1000, [
        ['/a', { LCP: 100 }],
        ['/b', { LCP: 300 }],
      ]),
      run(1000, 3000, [['/a2', { LCP: 200 }]]),
    ]);
    const whole = await ask(checkId, { metrics: 'responseTime_sum,LCP_avg,availability' }, 'browser-checks');
    expect(whole.body.series).toEqual([
      { data: [{ responseTime_sum: 4000, LCP_avg: 200, availability: 100 }] },
    ]);
    const pages = await ask(
      checkId,
      { metrics: 'responseTime_sum,LCP_avg', groupBy: 'pageIndex' },
      'browser-checks',
    );
    expect(pages.body.series).toEqual([
      {
        pageIndex: 0,
        pageUrl: '/a2',
        data: [{ pageIndex: 0, pageUrl: '/a2', responseTime_sum: 4000, LCP_avg: 150 }],
      },
      {
        pageIndex: 1,
        pageUrl: '/b',
        data: [{ pageIndex: 1, pageUrl: '/b', responseTime_sum: 1000, LCP_avg: 300 }],
      },
    ]);
    const raw = await ask(checkId, { metrics: 'LCP' }, 'browser-checks');
    expect(raw.body.series[0].data.map(({ LCP }: { LCP: number }) => LCP)).toEqual([200, 200]);
  });

  it('follows the events of heartbeats by their states', async () => {
    await stage.start();
    const { harness, clock } = stage;
    const made = await harness.call('POST', '/v1/checks/heartbeat', {
      name: 'nightly',
      heartbeat: { period: 5, periodUnit: 'minutes', grace: 1, graceUnit: 'minutes' },
    });
    const { id, heartbeat } = made.body;
    const ping = () => harness.call('GET', heartbeat.pingUrl, undefined, { key: null });
    await ping();
    clock.advance(60_000);
    await ping();
    clock.advance(7 * 60_000);
    await harness.store.transaction(async (repositories) => {
      const [timer] = await repositories.heartbeats.overdue(clock.wallMs(), 1);
      if (!timer) throw new Error('the ping is not overdue');
      await new HeartbeatRecorder().recordMissed(repositories, timer, clock.wallMs());
    });
    const share = async (query: Readonly<Record<string, string | number>>) => {
      const answer = await ask(id, { metrics: 'availability,retries', ...query }, 'heartbeat-checks');
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      return answer.body.series;
    };
    expect(await share({})).toEqual([{ data: [{ availability: expect.closeTo(200 / 3), retries: 0 }] }]);
    expect(await share({ filterByStatus: 'EARLY,FAILING' })).toEqual([
      { data: [{ availability: 50, retries: 0 }] },
    ]);
    expect(await share({ filterByStatus: 'GRACE' })).toEqual([{ data: [] }]);
    for (const [key, value] of [
      // Heartbeats have no locations, and no results with a success of their own.
      ['groupBy', 'runLocation'],
      ['filterByStatus', 'success'],
      ['metrics', 'latency_avg'],
    ] as const) {
      const refused = await ask(id, { metrics: 'availability', [key]: value }, 'heartbeat-checks');
      expect([refused.status, refused.body.validation.keys]).toEqual([400, [key]]);
    }
  });

  it('answers by check: skeleton, other types, other accounts, invalid queries, overview and metric list', async () => {
    await stage.start();
    const check = await createCheck(stage.harness, { tags: ['prod'], frequency: 5 });
    const { body } = await ask(check.id, { metrics: 'availability' });
    expect(body).toMatchObject({
      checkId: check.id,
      name: 'a monitor',
      checkType: 'URL',
      activated: true,
      muted: false,
      frequency: 5,
      tags: ['prod'],
      series: [{ data: [] }],
      pagination: { page: 1, limit: 10 },
    });
    expect(Date.parse(body.to) - Date.parse(body.from)).toBe(dayMs + 1);
    expect((await ask(check.id, { metrics: 'responseTime' }, 'multistep-checks')).status).toBe(404);
    const other = await stage.harness.addAccount();
    const foreign = `/v1/analytics/url-monitors/${check.id}?metrics=availability`;
    expect((await stage.harness.call('GET', foreign, undefined, { key: other.key })).status).toBe(404);
    const bad: [string, Record<string, string | number>][] = [
      ['metrics', {}],
      ['metrics', { metrics: 'responseTime_p42' }],
      ['metrics', { metrics: '' }],
      ['aggregationInterval', { metrics: 'retries', aggregationInterval: 0 }],
      ['aggregationInterval', { metrics: 'retries', aggregationInterval: 43_201 }],
      ['groupBy', { metrics: 'retries', groupBy: 'pageIndex' }],
      ['filterByStatus', { metrics: 'retries', filterByStatus: 'degraded' }],
      ['quickRange', { metrics: 'retries', quickRange: 'lastYear' }],
      ['limit', { metrics: 'retries', limit: 101 }],
      ['to', { metrics: 'retries', from: 2_000_000, to: 1_000_000 }],
    ];
    for (const [key, query] of bad) {
      const refused = await ask(check.id, query);
      expect([refused.status, refused.body.validation?.keys], JSON.stringify(query)).toEqual([400, [key]]);
    }
    await stage.harness.store.results.insert([
      resultRow(check.id, stage.harness.accountId, stage.clock.wallMs(), { responseTime: 7 }),
    ]);
    const overviewFor = (key: string, checkIds = [check.id]) =>
      stage.harness.call('POST', '/v1/analytics/checks', { checkIds }, { key });
    expect((await overviewFor(other.key)).status).toBe(404);
    const readOnly = await stage.harness.addKey('READ_ONLY');
    expect((await overviewFor(readOnly, [check.id, crypto.randomUUID()])).status).toBe(404);
    const overview = await overviewFor(readOnly);
    expect(overview.body).toMatchObject([{ checkId: check.id, availability: 100, responseTime_p95: 7 }]);
    const listed = await stage.harness.call('GET', '/v1/analytics/metrics?checkType=URL');
    expect(listed.body).toContainEqual({
      name: 'responseTime_p95',
      unit: 'ms',
      label: 'Response time',
      type: 'Float',
      aggregated: true,
    });
    expect(listed.body).toHaveLength(6 * 11 + 2);
  });

  it('forgets the chunks of a deleted check', async () => {
    await stage.start();
    await createLocation(stage.harness, 'office');
    const { store, accountId } = stage.harness;
    const checkId = (await createCheck(stage.harness)).id;
    const old = stage.clock.wallMs() - 3 * dayMs;
    await store.results.insert([resultRow(checkId, accountId, old, {})]);
    const seal = () =>
      store.transaction((repositories) => repositories.resultColumns.sealNext(checkId, stage.clock.wallMs()));
    expect([await seal(), await seal()]).toEqual([true, false]);
    expect(await store.resultColumns.sealedUntil(checkId)).toBeGreaterThan(old);
    await stage.harness.call('DELETE', `/v1/checks/${checkId}`);
    await store.transaction((repositories) => repositories.results.purgeSome(checkId, 100));
    expect(await store.resultColumns.sealedUntil(checkId)).toBe(0);
    expect(await seal()).toBe(false);
  });
}

function iso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
