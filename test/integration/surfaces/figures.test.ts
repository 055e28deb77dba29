import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiCommands } from '../../../src/cli/account/commands.ts';
import { ApiClient } from '../../../src/cli/api/client.ts';
import { pages } from '../../../src/console/registry.ts';
import { readingTools } from '../../../src/extras/mcp/tools/reading.ts';
import { badgeRoutes } from '../../../src/protocol/pages/badge.ts';
import { publicPageRoutes } from '../../../src/protocol/pages/public-page.ts';
import type { Coverage } from '../../../src/protocol/runs/coverage.ts';
import { connectMcp, textsOf } from '../../helpers/service/mcp/client.ts';
import { loggedIn, Visitor } from '../../helpers/service/visitor.ts';
import { once, partOf, rowOf } from '../../helpers/surfaces/documents.ts';
import { FiguresStage, historyNames } from '../../helpers/surfaces/figures-stage.ts';
import {
  countOf,
  figureProblems,
  percentOf,
  percentsIn,
  textOf,
  timeOf,
} from '../../helpers/surfaces/oracle.ts';

// One account with difficult numbers: every surface that shows a number shows that of the API.
let stage: FiguresStage;
let reader: Visitor;
let reports: Map<string, Aggregate>;

interface Aggregate {
  readonly successRatio: number | null;
  readonly p95: number | null;
  readonly avg: number | null;
  readonly coverage: Coverage;
}

beforeAll(async () => {
  stage = await FiguresStage.open();
  reader = await loggedIn(stage.harness, 'READ_WRITE', stage.harness.key);
  const list = await stage.call('GET', '/v1/reporting?quickRange=last24Hrs');
  reports = new Map(
    list.map((one: { name: string; aggregate: Aggregate }) => [one.name, one.aggregate] as const),
  );
}, 120_000);
afterAll(() => stage.close());

const of = (name: string): Aggregate => {
  const found = reports.get(name);
  if (!found) throw new Error(`there is no report of ${name}`);
  return found;
};
it('has the difficult numbers that it exists for', () => {
  expect(percentOf(of('six and a half').successRatio)).toBe('6.44 %');
  expect(percentOf(of('nearly whole').successRatio)).toBe('99.99 %');
  expect(percentOf(of('third').coverage.percent)).toBe('100 %');
  expect(of('nothing').successRatio).toBe(0);
  expect([of('gaps').successRatio, percentOf(of('gaps').coverage.percent)]).toEqual([100, '61.53 %']);
  expect(of('whole').coverage.due).toBeGreaterThan(1_000);
  expect(timeOf(of('third').p95)).toBe('1.23 s');
  expect(timeOf(of('nothing').p95)).toBe('1 min');
});

// Surfaces that show all checks are read once.
const report = once(async () => (await reader.get('/report?range=last24Hrs')).body);
const reportTable = once(async () =>
  String(await stage.call('GET', '/v1/reporting.csv?quickRange=last24Hrs')),
);
const dashboard = once(async () => (await new Visitor(stage.harness.app).get('/dashboards/wall')).body);
const firstOverview = once(wholeOverview);

describe('each check', () => {
  it.each(historyNames)('"%s" has the figures of the API in the report and its table', async (name) => {
    const row = rowOf(await report(), name);
    const { successRatio, coverage, p95 } = of(name);
    const cells = new Map(
      [...row.matchAll(/data-label="([^"]+)">([\s\S]*?)<\/td>/g)].map(([, title = '', cell = '']) => [
        title,
        textOf(cell).trim(),
      ]),
    );
    const covered = coverage.percent === 100 ? '' : ` ${percentOf(coverage.percent)} measured`;
    const succeeded = coverage.evaluated === 0 ? '–' : `${percentOf(successRatio)}${covered}`;
    expect(cells.get('Succeeded')).toBe(succeeded);
    expect(cells.get('p95')).toBe(timeOf(p95));
    expect(cells.get('Due')).toBe(countOf(coverage.due));
    expect(cells.get('Evaluated')).toBe(countOf(coverage.evaluated));
    const [titles = '', ...lines] = (await reportTable()).split('\r\n');
    const line = (lines.find((one) => one.includes(stage.id(name))) ?? '').split(',');
    const cell = (title: string) => line[titles.split(',').indexOf(title)];
    expect([cell('success_percent'), cell('coverage_percent'), cell('p95_ms'), cell('slots_due')]).toEqual(
      [successRatio, coverage.percent, p95, coverage.due].map((value) => String(value ?? '')),
    );
  });

  it.each(historyNames)('"%s" has the figures of the API in the overview and on its page', async (name) => {
    const row = partOf(await firstOverview(), `id="check-${stage.id(name)}"`, 'id="check-');
    const { successRatio, coverage, p95 } = of(name);
    const figures = textOf(partOf(row, '<td class="check-figure number"', '</td>'));
    const covered = coverage.percent === 100 ? 'all measured' : `${percentOf(coverage.percent)} measured`;
    expect(figures.trim()).toBe(`${successRatio === null ? '–' : percentOf(successRatio)} ${covered}`);
    expect(textOf(partOf(row, '<td class="check-time', '</td>'))).toContain(timeOf(p95));
    const page = textOf((await reader.get(`/checks/${stage.id(name)}?range=24h`)).body);
    if (successRatio !== null) expect(page).toContain(`Available ${percentOf(successRatio)}`);
    const measured = coverage.percent === 100 ? 'all' : `${percentOf(coverage.percent)} of`;
    expect(page).toContain(`${measured} ${countOf(coverage.due - coverage.open)} runs measured`);
  });

  it.each(historyNames)('"%s" has the figures of the API on the dashboard and on its badge', async (name) => {
    const { successRatio, coverage, p95, avg } = of(name);
    const part = textOf(partOf(await dashboard(), `<h3>${name}</h3>`, '<h3>'));
    const covered = coverage.percent === 100 ? '' : ` ${percentOf(coverage.percent)} measured`;
    const said = coverage.evaluated === 0 ? 'not measured' : `${percentOf(successRatio)}${covered}`;
    expect(part).toContain(`24 h ${said}`);
    if (p95 !== null) expect(part).toContain(`p95 ${timeOf(p95)}`);
    const badge = String(await stage.call('GET', `/v1/badges/checks/${stage.id(name)}?responseTime=true`));
    if (avg !== null) expect(badge).toContain(`${timeOf(avg)}${covered}`.replace('<', '&lt;'));
    expect(percentsIn(textOf(badge)).map((one) => one.trim())).toEqual(
      covered === '' || coverage.evaluated === 0 ? [] : expect.arrayContaining([percentOf(coverage.percent)]),
    );
  });
});

/** The overview with its figures, which may arrive a moment later than the rest. */
async function wholeOverview(): Promise<string> {
  for (;;) {
    const { body } = await reader.get('/');
    if (!body.includes('data-unfinished')) return body;
    // An unfinished overview is cached for half a second.
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

it('draws an on-demand run, marks it, and counts it in no figure', async () => {
  const [id, result] = [stage.id('whole'), stage.made.get('run on demand')];
  expect(of('whole').successRatio).toBe(100);
  const query = `metrics=availability&from=${stage.clock.wallMs() - 86_400_000}&to=${stage.clock.wallMs() + 1}`;
  const analytics = await stage.call('GET', `/v1/analytics/url-monitors/${id}?${query}`);
  expect(analytics.series[0].data[0].availability).toBe(100);
  const row = partOf(await wholeOverview(), `id="check-${id}"`, 'id="check-');
  const page = (await reader.get(`/checks/${id}?range=24h`)).body;
  for (const body of [row, page]) {
    expect(body).toContain(`/checks/${id}/runs/${result}`);
    expect(body).toMatch(/on demand, failed/);
    expect(body).toContain('class="bar-asked"');
  }
  expect(textOf(row)).toContain('Unexpected status 503');
  expect(textOf(page)).toContain('On demand 1, not counted in availability');
  const dashboard = await stage.call('GET', '/v1/public/dashboards/wall');
  const shown = dashboard.checks.find((one: { checkId: string }) => one.checkId === id);
  expect(shown.last24Hours.successRatio).toBe(100);
  expect(shown.lastRuns.map((run: { isOnDemand: boolean }) => run.isOnDemand)).toContain(true);
});

it('counts on the public page from the first measured slot, and draws nothing for the days before', async () => {
  const page = await stage.call('GET', '/v1/public/status-pages/ours');
  const [shop, byHand] = page.cards[0].services;
  const body = (await new Visitor(stage.harness.app).get('/status/ours')).body;
  const text = textOf(body);
  expect(shop.uptimeSince.slice(0, 10)).toBe('2026-03-28');
  expect(text).toContain(
    `${percentOf(shop.uptime)} without an incident since 28 Mar 2026 , ${percentOf(shop.coverage.percent)} measured`,
  );
  expect(text).toContain(`${percentOf(byHand.uptime)} without an announced incident since 29 Mar 2026`);
  expect(body.match(/: no data yet</g)).toHaveLength(88 + 89);
  expect(shop.days).toHaveLength(90);
});

describe('every page', () => {
  /** Pages that this account has no content for, with the reason. A page in neither list fails the test. */
  const without: Readonly<Record<string, string>> = {
    '/tries/:id': 'a run of what is being edited, which is a session of a test',
    '/sessions/tests/:id': 'test sessions have no numbers of their own: they show those of results',
    '/sessions/tests/:id/results/:resultId': 'shows a result as the page of a run does',
    '/accounts/:account/test-sessions/:id': 'leads to the page of the session',
  };

  it('shows percentages of the API, and no badly formatted figure', async () => {
    const allowed = await percentagesOfTheApi();
    const { found, unreached } = await everyDocument();
    // Pages of plain resources show their fields, which are no figures.
    const isOfResource = (pattern: string) => /^\/settings\/[^/]+\/:key\/details$/.test(pattern);
    expect(unreached.filter((pattern) => !(pattern in without || isOfResource(pattern)))).toEqual([]);
    expect(Object.keys(without).filter((pattern) => !unreached.includes(pattern))).toEqual([]);
    const problems = [...found].flatMap(([address, body]) => {
      const text = textOf(body);
      return [
        // Forms show settings as they were written.
        ...(/\/(edit|new)$/.test(address) ? [] : figureProblems(text)).map(
          (problem) => `${address}: ${problem}`,
        ),
        ...percentsIn(text)
          .filter((percent) => !allowed.has(percent))
          .map((percent) => `${address}: ${percent} is nothing that the API says`),
        ...wrongTimes(body).map((time) => `${address}: ${time}`),
      ];
    });
    expect(problems).toEqual([]);
  }, 120_000);

  /** Every percentage in responses of the API, as surfaces show it. */
  async function percentagesOfTheApi(): Promise<Set<string>> {
    const allowed = new Set<string>();
    const collect = (value: unknown, key: string) => {
      if (typeof value === 'number' && /percent|ratio|availability|uptime|target|progress/i.test(key)) {
        if (value >= 0 && value <= 100) allowed.add(percentOf(value));
      } else if (typeof value === 'object' && value !== null) {
        const { due, final, onTheirWay } = value as Record<string, number>;
        if (due !== undefined && final !== undefined && due > (onTheirWay ?? 0))
          allowed.add(percentOf((100 * final) / (due - (onTheirWay ?? 0))));
        for (const [name, inner] of Object.entries(value)) collect(inner, Array.isArray(value) ? key : name);
      }
    };
    const paths = [
      ...['last24Hrs', 'last7Days', 'last30Days', 'lastMonth'].map(
        (range) => `/v1/reporting?quickRange=${range}`,
      ),
      ...['/v1/public/dashboards/wall', '/v1/public/status-pages/ours', '/v1/check-statuses'],
      `/v1/slos/${stage.made.get('slo')}/status`,
      `/v1/private-locations/${stage.location.id}/coverage`,
      ...[1, 7].map((days) => {
        const to = new Date(stage.clock.wallMs());
        const from = new Date(stage.clock.wallMs() - days * 86_400_000);
        return `/v1/private-locations/${stage.location.id}/slots?from=${from.toISOString()}&to=${to.toISOString()}`;
      }),
    ];
    for (const path of paths) collect(await stage.call('GET', path), '');
    for (const quickRange of ['last24Hours', 'last7Days']) {
      collect(
        await stage.call('POST', '/v1/analytics/checks', { checkIds: [...stage.ids.values()], quickRange }),
        '',
      );
    }
    for (const id of stage.ids.values()) {
      for (const from of [1, 6, 24, 168].map((hours) => stage.clock.wallMs() - hours * 3_600_000)) {
        const query = `metrics=availability&from=${from}&to=${stage.clock.wallMs()}`;
        collect(await stage.call('GET', `/v1/analytics/url-monitors/${id}?${query}`), '');
      }
    }
    return allowed;
  }

  /** Visits the pages of the registry by their links. */
  async function everyDocument() {
    const patterns = pages
      .filter(({ method = 'GET', path }) => method === 'GET' && !/\/files\/\*$|\.\w+$|:file$/.test(path))
      .map(({ path }) => ({
        pattern: path,
        match: new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+').replaceAll('*', '.*')}$`),
      }))
      .sort((left, right) => left.pattern.split(':').length - right.pattern.split(':').length);
    const waiting = [
      ...patterns.filter(({ pattern }) => !/[:*]/.test(pattern)).map(({ pattern }) => pattern),
      `/sessions/checks/${stage.made.get('session')}`,
    ];
    const known = new Set(waiting);
    const found = new Map<string, string>();
    const counts = new Map<string, number>();
    for (let address = waiting.shift(); address !== undefined; address = waiting.shift()) {
      const pattern = patterns.find(({ match }) => match.test(address?.split('?')[0] ?? ''))?.pattern;
      const count = counts.get(pattern ?? '') ?? 0;
      if (
        pattern === undefined ||
        count >= (/^\/checks\/:checkId(\/runs\/:resultId)?$/.test(pattern) ? 12 : 4)
      )
        continue;
      const { status, body } = await reader.get(address);
      if (status >= 400) continue;
      counts.set(pattern, count + 1);
      if (status !== 200) continue;
      found.set(address, body);
      for (const [, link = ''] of body.matchAll(/href="(\/[^"#]*)"/g)) {
        const next = link.replaceAll('&amp;', '&');
        if (!known.has(next)) waiting.push(next);
        known.add(next);
      }
    }
    return { found, unreached: patterns.map(({ pattern }) => pattern).filter((one) => !counts.has(one)) };
  }

  /** Times whose text differs from their machine-readable instant. */
  function wrongTimes(body: string): string[] {
    return [...body.matchAll(/<time [^>]*?datetime="([^"]*)" title="([^"]*)"[^>]*>([^<]*)</g)].flatMap(
      ([whole, iso = '', title = '', words = '']) => {
        const utc = new Date(iso).toISOString();
        const isRight =
          title.slice(0, 16).replace(' ', 'T') === utc.slice(0, 16) &&
          (!/^\d{4}-/.test(words) || words === `${utc.slice(0, 10)} ${utc.slice(11, 19)} UTC`);
        return isRight ? [] : [whole];
      },
    );
  }
});

describe('public surfaces', () => {
  const shown: Readonly<Record<string, string | null>> = {
    getDashboardData: '/dashboards/wall',
    getStatusPageData: '/status/ours',
    subscribe: null,
    confirmSubscription: null,
    unsubscribe: null,
    getCheckBadge: null,
    getGroupBadge: null,
    getStatusPageBadge: '/v1/badges/status-pages/ours',
  };

  it('are all known here, and show no figure that reads wrong', async () => {
    const operations = [publicPageRoutes, badgeRoutes].flatMap((group) => Object.keys(group));
    expect(Object.keys(shown).toSorted()).toEqual(operations.toSorted());
    for (const path of Object.values(shown)) {
      if (path === null) continue;
      const { body } = await new Visitor(stage.harness.app).get(path);
      expect(figureProblems(textOf(body))).toEqual([]);
    }
  });
});

describe('commands', () => {
  /** Arguments of each command; null: it changes something, or shows no figures. */
  const calls: Readonly<Record<string, readonly string[] | null>> = {
    ...{ status: [], checks: [], alerts: [], causes: [], 'silence list': [], 'channel list': [] },
    ...{ 'domain list': [], 'domain check <host>': null, locations: [], incidents: [] },
    'drain <location>': null,
    ...{ 'trigger <check>': null, 'pause <check>': null, 'resume <check>': null },
    ...{ 'mute <check>': null, 'unmute <check>': null, 'open [check]': null },
    ...{ 'logs <check>': ['nothing'], 'why <check>': ['nothing'], 'slots <check>': ['gaps'] },
    ...{ 'judge <analysis> <verdict>': null, 'steps show <check>': null },
    ...{ 'steps restore <check> <version>': null, 'steps forget <check>': null, 'ack <check>': null },
    ...{ 'silence add': null, 'silence end <id>': null, 'channel test <id>': null },
  };

  it('are all known here, and show no figure that reads wrong', async () => {
    const api = new ApiClient({ PICKET_URL: stage.url, PICKET_API_KEY: stage.harness.key });
    expect(Object.keys(calls).toSorted()).toEqual(apiCommands.map(({ usage }) => usage).toSorted());
    for (const { usage, load } of apiCommands) {
      const given = calls[usage];
      if (!given) continue;
      const lines = (await (await load())(api, given, { since: '365d' })).lines(200).join('\n');
      // Columns of times and ids are for programs, too.
      const words = lines.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z|\b[\da-f]{8}(?:-[\da-f-]{4,27})?\b/g, '');
      expect([usage, figureProblems(words)]).toEqual([usage, []]);
      if (usage === 'slots <check>') {
        const { coverage } = of('gaps');
        const done = coverage.evaluated + coverage.errors;
        expect(words).toContain(
          `${countOf(done)} completed (${percentOf((100 * done) / (coverage.due - coverage.open))})`,
        );
      }
      if (usage === 'logs <check>') expect(words).toMatch(/1\.23 s\s/);
    }
  });
});

describe('tools of language models', () => {
  /** Figures are as in the API. A new tool must be in one of the two lists. */
  const figures: Readonly<
    Record<string, () => readonly [arguments_: Record<string, unknown>, path: string]>
  > = {
    get_report: () => [{ quickRange: 'last24Hrs' }, '/v1/reporting?quickRange=last24Hrs'],
    get_slo_status: () => [
      { sloId: Number(stage.made.get('slo')) },
      `/v1/slos/${stage.made.get('slo')}/status`,
    ],
    get_location_coverage: () => [
      { locationId: stage.location.id },
      `/v1/private-locations/${stage.location.id}/coverage`,
    ],
    list_check_statuses: () => [{}, '/v1/check-statuses'],
  };
  const others =
    'list_checks get_check list_steps get_check_status list_check_groups list_check_results get_check_result read_artifact list_check_slots count_check_slots get_check_analytics list_analytics_metrics compare_checks list_open_alerts list_alerts list_alert_notifications list_alert_causes get_alert_cause list_monitoring_gaps list_silences list_error_groups get_error_group get_root_cause get_check_session wait_for_check_session list_test_sessions get_test_session get_test_session_result list_incidents get_incident list_status_pages list_status_page_services list_maintenance_windows list_private_locations list_location_events list_heartbeat_events list_slos list_audit_log get_account'.split(
      ' ',
    );

  it('are all known here, and return the numbers of the API', async () => {
    expect([...Object.keys(figures), ...others].toSorted()).toEqual(
      readingTools.map(({ name }) => name).toSorted(),
    );
    const client = await connectMcp(stage.url, { key: stage.harness.key });
    try {
      for (const [name, call] of Object.entries(figures)) {
        const [given, path] = call();
        const answer = await client.callTool({ name, arguments: given });
        const said = textsOf(answer as { content: unknown[] }).join('\n');
        const json = JSON.parse(said.slice(said.search(/[[{]/)));
        const expected = new Set(numbersOf(await stage.call('GET', path)));
        expect([name, numbersOf(json).filter((number) => !expected.has(number))]).toEqual([name, []]);
      }
    } finally {
      await client.close();
    }
  });

  function numbersOf(value: unknown): number[] {
    if (typeof value === 'number') return [value];
    return typeof value === 'object' && value !== null ? Object.values(value).flatMap(numbersOf) : [];
  }
});
