import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { failure } from '../../../../src/checks/contract/failure.ts';
import type { ResultReport } from '../../../../src/protocol/agent/agent.ts';
import { createCheck, reportOf } from '../../../helpers/service/service.ts';
import type { StoreStage } from './stage.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const down = failure('CONNECTION_REFUSED', 'connect ECONNREFUSED');
const wrong = failure('ASSERTION_FAILED', 'expected 200, received 503');
const ours = failure('AGENT_OUT_OF_RESOURCES', 'the agent crashed');

/** Dashboards, reports and badges: their content follows from the results. */
export function pageSuite(stage: StoreStage): void {
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await stage.harness.call(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const open = (path: string) => stage.harness.call('GET', path, undefined, { key: null });

  async function monitor(name: string, tags: string[] = []): Promise<string> {
    const fields = { name, tags, privateLocations: ['lab'], retryStrategy: null, doubleCheck: false };
    return (await createCheck(stage.harness, fields)).id;
  }

  async function report(checkId: string, fields: Partial<ResultReport> = {}): Promise<void> {
    await stage.queueNextSlot(checkId);
    const runs = await stage.agent.claim();
    const own = runs.find((run) => run.check.id === checkId);
    if (!own) throw new Error('the run was not leased');
    const others = runs.filter((run) => run !== own);
    if (others.length > 0) await stage.agent.release(others);
    expect(await stage.agent.report([reportOf(own, fields)])).toEqual(['accepted']);
  }

  it('reports success ratios and nearest-rank percentiles like a plain count', async () => {
    await stage.start();
    const ids = [
      await monitor('alpha', ['a', 'both']),
      await monitor('beta', ['b', 'both']),
      await monitor('none'),
    ];
    const now = stage.clock.wallMs();
    const told = new Map(ids.map((id) => [id, [] as { at: number; ms: number; kind: string }[]]));
    const random = seeded(7);
    const kinds = ['passed', 'passed', 'passed', 'failed', 'unreachable', 'ours', 'attempt'];
    const rows = ids.slice(0, 2).flatMap((checkId) =>
      Array.from({ length: 230 }, () => {
        const kind = kinds[Math.floor(random() * kinds.length)] ?? 'passed';
        const at = now - Math.floor(random() * 10 * dayMs);
        const ms = Math.round(random() * 100_000) / 100;
        told.get(checkId)?.push({ at, ms, kind });
        return resultRow(stage.harness.accountId, checkId, { at, ms, kind });
      }),
    );
    await stage.harness.store.results.insert(rows);
    for (const [query, from, to] of [
      ['', now + 1 - dayMs, now + 1],
      ['?quickRange=last7Days', now + 1 - 7 * dayMs, now + 1],
      ['?quickRange=last30Days', 0, now + 1],
      [`?from=${now - 3 * dayMs}&to=${now - dayMs}`, now - 3 * dayMs, now - dayMs],
      [`?from=${now - 3 * dayMs}`, now - 3 * dayMs, now + 1],
    ] as const) {
      const reported = await call('GET', `/v1/reporting${query}`);
      expect(reported.map(({ name }: { name: string }) => name)).toEqual(['alpha', 'beta', 'none']);
      ids.forEach((id, index) => {
        const runs = (told.get(id) ?? []).filter(
          ({ at, kind }) => at >= from && at < to && kind !== 'ours' && kind !== 'attempt',
        );
        const times = runs.filter(({ kind }) => kind !== 'unreachable').map(({ ms }) => ms);
        times.sort((left, right) => left - right);
        const rank = (percent: number) => times[Math.ceil((percent / 100) * times.length) - 1] ?? null;
        const passed = runs.filter(({ kind }) => kind === 'passed').length;
        const sum = times.reduce((total, ms) => total + ms, 0);
        const { aggregate } = reported[index];
        expect([query, aggregate.p95, aggregate.p99]).toEqual([query, rank(95), rank(99)]);
        if (runs.length === 0) expect(aggregate.successRatio).toBeNull();
        else expect(aggregate.successRatio).toBeCloseTo((100 * passed) / runs.length, 9);
        if (times.length === 0) expect(aggregate.avg).toBeNull();
        else expect(aggregate.avg).toBeCloseTo(sum / times.length, 9);
      });
    }
    const named = async (query: string) =>
      (await call('GET', `/v1/reporting?${query}`)).map(({ name }: { name: string }) => name);
    expect(await named('filterByTags=a&filterByTags=b')).toEqual(['alpha', 'beta']);
    expect(await named('filterByTags=a')).toEqual(['alpha']);
    await call('PUT', `/v1/checks/url/${ids[0]}`, { activated: false });
    expect(await named('deactivated=true')).toEqual(['alpha']);
    expect(await named('deactivated=false')).toEqual(['beta', 'none']);
  });

  it('shows on a dashboard the checks with its tags, in their last state', async () => {
    await stage.start();
    const alpha = await monitor('alpha', ['web', 'prod']);
    const beta = await monitor('beta', ['web']);
    await monitor('gamma', ['prod']);
    const sleeping = await monitor('sleeping', ['web']);
    await call('PUT', `/v1/checks/url/${sleeping}`, { activated: false });
    await report(alpha, { responseTimeMs: 80 });
    await report(beta, { failure: down, responseTimeMs: 3 });
    const dashboard = await call('POST', '/v1/dashboards', {
      header: 'Ours',
      customUrl: 'Our-Checks',
      tags: ['web', 'prod'],
      checksPerPage: 2,
    });
    expect(dashboard.customUrl).toBe('our-checks');
    const shown = async (query = '') => (await open(`/v1/public/dashboards/OUR-checks${query}`)).body;
    const names = ({ checks }: { checks: { name: string; state: string }[] }) =>
      checks.map(({ name, state }) => `${name} ${state}`);

    const first = await shown();
    expect(names(first)).toEqual(['alpha passing', 'beta failing']);
    const unknown = { notJudged: 0, notMeasured: 0, pending: 1, paused: 0, unknown: 1 };
    expect(first.summary).toEqual({ passing: 1, degraded: 0, failing: 1, ...unknown });
    expect(first.pagination).toEqual({ page: 1, pages: 2, checksPerPage: 2, total: 3 });
    expect(names(await shown('?page=2'))).toEqual(['gamma pending']);
    expect(first.checks[0]).toMatchObject({
      tags: ['web', 'prod'],
      last24Hours: { successRatio: 100, avg: 80, p95: 80, p99: 80 },
      lastRuns: [{ state: 'passing', responseTime: 80, runLocation: 'lab', resultUrl: null }],
    });
    // No response arrived, so there is no response time.
    expect(first.checks[1].last24Hours).toEqual({
      successRatio: 0,
      avg: null,
      p95: null,
      p99: null,
      coverage: expect.objectContaining({ evaluated: 1, percent: 100 }),
    });

    await call('PUT', `/v1/dashboards/${dashboard.dashboardId}`, {
      useTagsAndOperator: true,
      hideTags: true,
      showCheckRunLinks: true,
      paginate: false,
    });
    const both = await shown();
    expect(names(both)).toEqual(['alpha passing']);
    expect(both.checks[0].tags).toEqual([]);
    const { resultUrl } = both.checks[0].lastRuns[0];
    expect(await call('GET', resultUrl)).toMatchObject({ checkId: alpha, responseTime: 80 });
    await call('PUT', `/v1/dashboards/${dashboard.dashboardId}`, { tags: [] });
    expect(names(await shown())).toEqual(['alpha passing', 'beta failing', 'gamma pending']);

    await report(beta, { isDegraded: true });
    await report(alpha, { failure: ours });
    expect(names(await shown())).toEqual(['alpha not-judged', 'beta degraded', 'gamma pending']);
  });

  it('opens a private dashboard with its key only', async () => {
    await stage.start();
    await monitor('alpha');
    const made = await call('POST', '/v1/dashboards', { header: 'x', customUrl: 'mine', isPrivate: true });
    const [{ rawKey, maskedKey }] = made.keys;
    expect(rawKey).toMatch(/^da_[0-9a-f]{32}$/);
    expect(maskedKey).toBe(`...${rawKey.slice(-4)}`);
    const path = `/v1/dashboards/${made.dashboardId}`;
    expect((await call('GET', path)).keys).toEqual([{ ...made.keys[0], rawKey: maskedKey }]);
    const status = async (key: string | null, query = '') =>
      (await stage.harness.call('GET', `/v1/public/dashboards/mine${query}`, undefined, { key })).status;
    expect(await status(null)).toBe(401);
    expect(await status(stage.harness.key)).toBe(401);
    expect(await status(rawKey)).toBe(200);
    expect(await status(null, `?key=${rawKey}`)).toBe(200);
    expect(await status(null, `?key=${maskedKey}`)).toBe(401);
    // A key of another private dashboard is not valid for this one.
    const other = await call('POST', '/v1/dashboards', { header: 'x', isPrivate: true });
    expect(await status(other.keys[0].rawKey)).toBe(401);

    expect((await call('PUT', path, { isPrivate: false })).keys).toEqual([]);
    expect(await status(null)).toBe(200);
    const again = await call('PUT', path, { isPrivate: true, keys: [{ rawKey: 'mine' }] });
    expect(again.keys[0].rawKey).toMatch(/^da_[0-9a-f]{32}$/);
    expect([await status(rawKey), await status(again.keys[0].rawKey)]).toEqual([401, 200]);
  });

  it('opens a private status page with its key only', async () => {
    await stage.start();
    const page = { name: 'x', url: 'inside', cards: [], isPrivate: true };
    const made = await call('POST', '/v1/status-pages', page);
    const [{ rawKey, maskedKey }] = made.keys;
    expect(rawKey).toMatch(/^sp_[0-9a-f]{32}$/);
    const path = `/v1/status-pages/${made.id}`;
    expect(await call('GET', path)).toMatchObject({
      isPrivate: true,
      keys: [{ rawKey: maskedKey, maskedKey }],
    });
    const status = async (key: string | null, query = '') =>
      (await stage.harness.call('GET', `/v1/public/status-pages/inside${query}`, undefined, { key })).status;
    expect([await status(null), await status(stage.harness.key)]).toEqual([401, 401]);
    expect([await status(rawKey), await status(null, `?key=${rawKey}`)]).toEqual([200, 200]);
    expect(await status(null, `?key=${maskedKey}`)).toBe(401);
    const other = await call('POST', '/v1/status-pages', { ...page, url: 'other' });
    expect(await status(other.keys[0].rawKey)).toBe(401);
    expect((await call('PUT', path, { name: 'y' })).keys).toMatchObject([{ maskedKey }]);
    expect((await call('PUT', path, { isPrivate: false })).keys).toEqual([]);
    expect(await status(null)).toBe(200);
    const again = await call('PUT', path, { isPrivate: true });
    expect([await status(rawKey), await status(again.keys[0].rawKey)]).toEqual([401, 200]);
  });

  it('shows the incidents of a dashboard while they last and for two weeks after', async () => {
    await stage.start();
    const { dashboardId } = await call('POST', '/v1/dashboards', { header: 'x', customUrl: 'old' });
    const incident = await call('POST', '/v1/incidents', {
      name: 'Slow',
      impact: 'MINOR',
      dashboardId,
      startedAt: new Date(stage.clock.wallMs() - hourMs).toISOString(),
      incidentUpdates: [{ status: 'INVESTIGATING', description: 'looking' }],
    });
    const shown = async () => (await open('/v1/public/dashboards/old')).body.incidents;
    expect(await shown()).toEqual([]);
    await call('PUT', `/v1/dashboards/${dashboardId}`, { enableIncidents: true });
    expect(await shown()).toMatchObject([{ name: 'Slow', stoppedAt: null }]);
    stage.clock.advance(hourMs);
    const at = `/v1/incidents/${incident.id}`;
    const update = await call('POST', `${at}/updates`, { status: 'RESOLVED', description: 'done' });
    const [resolved] = await shown();
    expect(resolved.stoppedAt).toBe(new Date(stage.clock.wallMs()).toISOString());
    expect(resolved.incidentUpdates.map(({ status }: { status: string }) => status)).toEqual([
      'RESOLVED',
      'INVESTIGATING',
    ]);
    await call('PUT', `${at}/updates/${update.id}`, { description: 'all done' });
    expect((await call('GET', at)).incidentUpdates[0].description).toBe('all done');
    stage.clock.advance(14 * dayMs + 1);
    expect(await shown()).toEqual([]);
    const last = await stage.harness.call('DELETE', `${at}/updates/${update.id}`);
    expect(last.status).toBe(204);
    const [only] = (await call('GET', at)).incidentUpdates;
    expect((await stage.harness.call('DELETE', `${at}/updates/${only.id}`)).status).toBe(400);
    await call('DELETE', `/v1/dashboards/${dashboardId}`);
    expect((await stage.harness.call('GET', at)).status).toBe(404);
  });

  it('draws badges for public dashboards, and for everything within the account', async () => {
    await stage.start();
    const alpha = await monitor('<alpha> & co', ['web']);
    const beta = await monitor('beta', ['secret']);
    await report(alpha, { responseTimeMs: 40 });
    await report(alpha, { responseTimeMs: 61 });
    await report(beta, { failure: wrong, responseTimeMs: 5 });
    const path = (id: string) => `/v1/badges/checks/${id}`;
    expect((await open(path(alpha))).status).toBe(404);
    const own = await stage.harness.call('GET', `${path(beta)}?responseTime=true`);
    expect(own.status).toBe(200);
    expect(own.body).toContain('failing 5 ms');
    const stranger = await stage.harness.addAccount();
    expect((await stage.harness.call('GET', path(alpha), undefined, { key: stranger.key })).status).toBe(404);

    await call('POST', '/v1/dashboards', { header: 'x', tags: ['web'] });
    await call('POST', '/v1/dashboards', { header: 'x', tags: ['secret'], isPrivate: true });
    const badge = await open(`${path(alpha)}?responseTime=true&style=for-the-badge&theme=dark`);
    expect([badge.status, badge.headers['content-type']]).toEqual([200, 'image/svg+xml; charset=utf-8']);
    expect(badge.body).toContain('&lt;ALPHA&gt; &amp; CO');
    expect(badge.body).toContain('PASSING 51 MS');
    expect((await open(path(beta))).status).toBe(404);
    expect((await open(path(randomUUID()))).status).toBe(404);

    const group = await stage.harness.store.groups.add(
      stage.harness.accountId,
      { name: 'Shop', tags: ['grouped'], locations: [], definition: { name: 'Shop', tags: ['grouped'] } },
      stage.clock.wallMs(),
    );
    const groupPath = `/v1/badges/groups/${group.id}`;
    const empty = await stage.harness.call('GET', groupPath);
    expect([empty.status, empty.body]).toEqual([200, expect.stringContaining('Shop: inactive')]);
    for (const id of [alpha, beta]) await call('PUT', `/v1/checks/url/${id}`, { groupId: group.id });
    expect((await open(groupPath)).status).toBe(404);
    expect((await stage.harness.call('GET', groupPath, undefined, { key: stranger.key })).status).toBe(404);
    expect((await stage.harness.call('GET', groupPath)).body).toContain('Shop: failing');
    await call('PUT', `/v1/checks/url/${beta}`, { groupId: null });
    expect((await open(groupPath)).body).toContain('Shop: passing');
    expect((await open('/v1/badges/groups/999999')).status).toBe(404);

    // A group passes its tags, its name and its deactivation on to its checks.
    await call('POST', '/v1/dashboards', { header: 'x', customUrl: 'of-group', tags: ['grouped'] });
    const shown = async () => (await open('/v1/public/dashboards/of-group')).body.checks;
    expect(await shown()).toMatchObject([{ checkId: alpha, groupName: 'Shop', tags: ['web', 'grouped'] }]);
    const asleep = { name: 'Shop', tags: ['grouped'], activated: false };
    const write = { name: 'Shop', tags: ['grouped'], locations: [], definition: asleep };
    await stage.harness.store.groups.change(group.id, write, stage.clock.wallMs());
    expect(await shown()).toEqual([]);
  });
}

/** Reproducible numbers between 0 and 1 (a linear congruential generator). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function resultRow(
  accountId: string,
  checkId: string,
  { at, ms, kind }: { readonly at: number; readonly ms: number; readonly kind: string },
) {
  const failed = { failed: wrong, unreachable: down, ours }[kind];
  return {
    id: randomUUID(),
    run_id: randomUUID(),
    account_id: accountId,
    check_id: checkId,
    check_type: 'URL',
    run_location: 'lab',
    result_type: kind === 'attempt' ? ('ATTEMPT' as const) : ('FINAL' as const),
    has_failures: failed && failed !== ours ? (1 as const) : (0 as const),
    has_errors: failed === ours ? (1 as const) : (0 as const),
    is_degraded: null,
    over_max: null,
    owner: failed?.owner ?? null,
    code: failed?.code ?? null,
    message: failed?.message ?? null,
    failure_details: null,
    response_time: ms,
    started: at,
    stopped: at,
    created: at,
    attempts: 0,
    sequence_id: randomUUID(),
    check_run_id: at,
    slot_at: at,
    start_delay: 0,
    agent_lag: 0,
    agent_overhead: 0,
    host_started: null,
    timing_doubtful: 0 as const,
    certificate_expires: null,
    agent_id: 'a',
    error_messages: '[]',
    error_group_ids: '[]',
    detail: null,
    measured: null,
  };
}
