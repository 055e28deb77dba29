import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { showLogs } from '../../../src/cli/api/checks.ts';
import { ApiClient } from '../../../src/cli/api/client.ts';
import type { Slot } from '../../../src/protocol/runs/slot.ts';
import { factsOf } from '../../../src/service/alerts/facts.ts';
import { isNight } from '../../helpers/night.ts';
import { reportOf, until } from '../../helpers/service/service.ts';
import { urlDetail } from '../../helpers/service/url-detail.ts';
import { loggedIn, Visitor } from '../../helpers/service/visitor.ts';
import { channelTexts } from '../../helpers/surfaces/channel-texts.ts';
import { FiguresStage, historyNames } from '../../helpers/surfaces/figures-stage.ts';
import {
  countOf,
  expiryOf,
  figureProblems,
  leftOf,
  percentOf,
  textOf,
} from '../../helpers/surfaces/oracle.ts';

// Heartbeats, run totals, objectives, certificate expiry, and mails of status pages show the figures of the API, too.
const dayMs = 86_400_000;
let stage: FiguresStage;
let reader: Visitor;
beforeAll(async () => {
  stage = await FiguresStage.open({ hasMailer: true, publicUrl: 'https://picket.test' });
  reader = await loggedIn(stage.harness, 'READ_WRITE', stage.harness.key);
}, 120_000);
afterAll(() => stage.close());

const cellsOf = (page: string, name: string) => {
  const row = page.split('</tr>').find((one) => one.includes(`>${name}</a>`)) ?? '';
  return new Map(
    [...row.matchAll(/data-label="([^"]+)">([\s\S]*?)<\/td>/g)].map(([, title = '', cell = '']) => [
      title,
      textOf(cell).trim(),
    ]),
  );
};
/** The values in a list of facts, by name. */
const factsIn = (page: string) =>
  new Map(
    [...page.matchAll(/<dt[^>]*>([\s\S]*?)<\/dt>\s*<dd[^>]*>([\s\S]*?)<\/dd>/g)].map(
      ([, name = '', value = '']) => [textOf(name).trim(), textOf(value).trim()],
    ),
  );

describe('a heartbeat', () => {
  it('has the same share, counts and state on every surface', async () => {
    const limits = { period: 1, periodUnit: 'hours', grace: 1, graceUnit: 'hours' };
    const made = await stage.call('POST', '/v1/checks/heartbeat', {
      ...{ name: 'nightly', tags: ['shown'], heartbeat: limits },
    });
    for (const said of ['up', 'down', 'up', 'up', 'down', 'up', 'up']) {
      stage.clock.advance(1_000);
      await stage.call('GET', `${made.heartbeat.pingUrl.replace('https://picket.test', '')}?status=${said}`);
    }
    stage.clock.advance(11_000);
    const reports = await stage.call('GET', '/v1/reporting?quickRange=last24Hrs');
    const { aggregate } = reports.find(({ name }: { name: string }) => name === 'nightly');
    expect(percentOf(aggregate.successRatio)).toBe('71.42 %');
    const share = percentOf(aggregate.successRatio);
    const events = await stage.call('GET', `/v1/checks/heartbeats/${made.id}/events`);
    expect(events[0].events.filter(({ state }: { state: string }) => state === 'FAILING')).toHaveLength(2);

    const cells = cellsOf((await reader.get('/report?range=last24Hrs')).body, 'nightly');
    expect(cells.get('Succeeded')).toBe(share);
    expect([cells.get('Due'), cells.get('Evaluated')]).toEqual([
      countOf(aggregate.coverage.due),
      countOf(aggregate.coverage.evaluated),
    ]);
    const page = textOf((await reader.get(`/checks/${made.id}?range=24h`)).body);
    expect(page).toContain(`Available ${share}`);
    const dashboard = (await new Visitor(stage.harness.app).get('/dashboards/wall')).body;
    const part = dashboard.slice(dashboard.indexOf('<h3>nightly</h3>')).split('<h3>')[1] ?? '';
    expect(textOf(part)).toContain(`24 h ${share}`);
    const window = `from=${stage.clock.wallMs() - dayMs}&to=${stage.clock.wallMs() + 1}`;
    const analytics = await stage.call(
      'GET',
      `/v1/analytics/heartbeat-checks/${made.id}?metrics=availability&${window}`,
    );
    expect(percentOf(analytics.series[0].data[0].availability)).toBe(share);

    const status = await stage.call('GET', `/v1/check-statuses/${made.id}`);
    expect(status.state).toBe('passing');
    expect(textOf(part)).toContain('Passing');
    expect(String(await stage.call('GET', `/v1/badges/checks/${made.id}`))).toContain('nightly: passing');
    const metrics = String(await stage.call('GET', '/metrics/checks'));
    expect(metrics).toMatch(
      new RegExp(`^picket_check_state\\{check="${made.id}"[^\\n]*state="passing"`, 'm'),
    );
    const api = new ApiClient({ PICKET_URL: stage.url, PICKET_API_KEY: stage.harness.key });
    // The fixture's clock differs from the command's.
    const logs = (await showLogs(api, ['nightly'], { since: '3650d' })).lines(200).join('\n');
    expect([logs.match(/ passed /g)?.length, logs.match(/ failed /g)?.length]).toEqual([5, 2]);
  });
});

describe('totals of runs', () => {
  it('equal those of the slots since they are counted, by check and verdict', async () => {
    const totals = async (id: string) =>
      Object.fromEntries(
        [
          ...String(await stage.call('GET', '/metrics/checks')).matchAll(
            new RegExp(`^picket_check_runs_total\\{check="${id}".*outcome="(\\w+)".*\\} (\\d+)$`, 'gm'),
          ),
        ].map(([, outcome = '', count]) => [outcome, Number(count)]),
      );
    // Totals begin with the first request.
    await totals('');
    const from = stage.clock.wallMs();
    await stage.runEach();
    await stage.runEach();
    stage.clock.advance(5_000);
    for (const name of historyNames) {
      const window = `from=${from - 3_600_000}&to=${stage.clock.wallMs() + 1}&limit=1000`;
      const { entries } = await stage.call('GET', `/v1/checks/${stage.id(name)}/slots?${window}`);
      // A run that was due before may have ended since.
      const ended = (entries as Slot[]).filter(
        ({ endedAt }) => endedAt !== null && Date.parse(endedAt) >= from,
      );
      const verdicts = Map.groupBy(ended, ({ verdict }) => verdict);
      const count = (verdict: Slot['verdict']) => verdicts.get(verdict)?.length ?? 0;
      const { passed, degraded, failed, error } = await totals(stage.id(name));
      expect([name, passed, degraded, failed, error]).toEqual([
        ...[name, count('PASSED'), count('DEGRADED'), count('FAILED'), count('ERROR')],
      ]);
      expect(count('PASSED') + count('DEGRADED') + count('FAILED') + count('ERROR')).toBeGreaterThanOrEqual(
        2,
      );
    }
  });

  it('with stored results are by the verdicts of their slots', async () => {
    const text = String(await stage.call('GET', '/metrics'));
    const verdicts = Object.fromEntries(
      [...text.matchAll(/^picket_results_total\{.*verdict="(\w+)"\} (\d+)/gm)].map(
        ([, verdict = '', count]) => [verdict, Number(count)],
      ),
    );
    // Runs by the agent: three of each check, and the on-demand run.
    expect(verdicts).toEqual({ passed: 9, degraded: 3, failed: 7, error: 3 });
  });
});

describe('objectives', () => {
  it.each([
    // It has 20,000 slots: by day only the hardest target, as others have the easy ones.
    ...(isNight
      ? ([
          ['nearly whole', 99.5],
          ['nearly whole', 50],
        ] as const)
      : []),
    ['nearly whole', 99.999],
    ['six and a half', 99.9],
    ['six and a half', 99.999],
    ['third', 50],
    ['gaps', 90],
    ['unjudged', 99],
    ['whole', 99.99],
  ] as const)('of "%s" at %d % equal the API on their page', async (name, target) => {
    const slo = { name: `${name} ${target}`, target, windowDays: 7, checkId: stage.id(name) };
    const { id } = await stage.call('POST', '/v1/slos', slo);
    const status = await stage.call('GET', `/v1/slos/${id}/status`);
    const { availability, errorBudget, burnRates, state, coverage } = status;
    const { body } = await reader.get(`/settings/slos/${id}/details`);
    const facts = factsIn(body.slice(body.indexOf('>Status<')));
    const words = {
      MET: 'Met',
      UNPROVEN: 'Met, as far as measured',
      BREACHED: 'Breached',
      UNKNOWN: 'Not measured',
    };
    expect(facts.get('State')).toContain(words[state as keyof typeof words]);
    expect(facts.get('Availability')).toBe(availability === null ? undefined : percentOf(availability));
    if (coverage.percent !== 100 && coverage.evaluated > 0)
      expect(facts.get('Measured')).toContain(percentOf(coverage.percent));
    const [failed, allowed] = [errorBudget.failedRuns, errorBudget.allowedRuns];
    expect(facts.get('Failed runs')).toBe(
      `${countOf(failed)} of ${countOf(Math.trunc(allowed))}.${allowed.toFixed(1).split('.')[1]} allowed by the target`,
    );
    const { leftPercent, leftPercentAtWorst } = errorBudget;
    expect(facts.get('Error budget left')).toBe(
      leftPercent === null ? undefined : `${leftOf(leftPercent)} (at worst ${leftOf(leftPercentAtWorst)})`,
    );
    for (const { hours, rate } of burnRates) {
      if (rate === null) continue;
      const [whole = '', digits] = rate.toFixed(2).split('.');
      expect(facts.get('Burn rate')).toContain(`${hours} h: ${countOf(Number(whole))}.${digits}×`);
    }
    const about = textOf(body.slice(body.indexOf('>Status<')).split('</section>')[0] ?? '');
    expect(figureProblems(about)).toEqual([]);
  });
});

describe('days of a certificate', () => {
  const days = [4_000, 366, 13, 1, 0, -1, -2, -1_200];

  it.each(days)('are the same everywhere if there are %i', async (left) => {
    const name = `certificate ${left}`;
    const check = await stage.call('POST', '/v1/checks/url', {
      ...{ name, privateLocations: ['lab'], retryStrategy: null, doubleCheck: false, tags: ['tls'] },
      request: { url: 'https://shop.test' },
    });
    // The agent is seen, so that on-demand runs are possible.
    await stage.agent.claim();
    await stage.call('POST', '/v1/check-sessions/trigger', { target: { checkId: [check.id] } });
    // A claim may skip a run that the scheduler has locked at that moment.
    const run = await until('the run is leased', async () => {
      stage.clock.advance(1_000);
      return (await stage.agent.claim()).find((one) => one.check.id === check.id);
    });
    const expiresAt = stage.clock.wallMs() + (left + 0.5) * dayMs;
    const certificate = {
      ...{ subject: 'CN=shop.test', issuer: 'CN=Authority', validTo: new Date(expiresAt).toISOString() },
      ...{ daysRemaining: left, protocol: 'TLSv1.3', cipher: 'TLS_AES_256_GCM_SHA384' },
    };
    const detail = urlDetail('https://shop.test', '192.0.2.7');
    await stage.agent.report([
      reportOf(run, {
        certificateExpiresAt: expiresAt,
        detail: { ...detail, response: { ...detail.response, certificate } } as never,
      }),
    ]);
    // Metrics responses are cached for some seconds.
    stage.clock.advance(4_000);
    const status = await stage.call('GET', `/v1/check-statuses/${check.id}`);
    expect(status.sslDaysRemaining).toBe(left);
    const page = textOf((await reader.get(`/checks/${check.id}/runs/${run.resultId}`)).body);
    expect(page).toContain(`First of the chain ${expiryOf(left)}`);
    const metrics = String(await stage.call('GET', '/metrics/checks'));
    const sample = new RegExp(
      `^picket_check_certificate_expiry_timestamp_seconds\\{check="${check.id}"[^\\n]*\\} ([^ \\n]+)$`,
      'm',
    ).exec(metrics)?.[1];
    expect(Number(sample)).toBe(expiresAt / 1_000);
    const others = String(await stage.call('GET', '/metrics/checks?names=blackbox'));
    expect(others).toMatch(
      new RegExp(`^probe_ssl_earliest_cert_expiry\\{check="${check.id}"[^\\n]*\\} ${sample}$`, 'm'),
    );
  });

  it.each(days)('are in messages of every channel as in the API if there are %i', async (left) => {
    const stored = await stage.harness.store.checks.find(stage.harness.accountId, stage.id('whole'));
    if (!stored) throw new Error('there is no such check');
    const expiresAt = stage.clock.wallMs() + (left + 0.5) * dayMs;
    const facts = factsOf(stored, undefined, {
      certificate: { domain: 'shop.test', daysRemaining: left, expiresAt },
    });
    for (const [kind, text] of channelTexts(facts, { type: 'ALERT_SSL', notice: 'ssl' })) {
      if (kind === 'WEBHOOK') expect(JSON.parse(text)).toMatchObject({ SSL_DAYS_REMAINING: left });
      else expect([kind, text]).toEqual([kind, expect.stringContaining(expiryOf(left))]);
    }
  });
});

describe('mails of a status page to its subscribers', () => {
  it('contain the times, words and parts of the page', async () => {
    const page = (await stage.call('GET', '/v1/status-pages')).entries.find(
      ({ url }: { url: string }) => url === 'ours',
    );
    const subscriptions = [{ type: 'EMAIL', config: { address: 'ada@example.com' } }];
    await stage.call('POST', `/v1/status-pages/${page.id}/subscriptions/bulk`, { subscriptions });
    const [incident] = (await stage.call('GET', '/v1/status-pages/incidents')).entries.filter(
      ({ name }: { name: string }) => name === 'Slow',
    );
    const update = { status: 'RESOLVED', description: 'It is fast again.', notifySubscribers: true };
    stage.clock.advance(26 * 3_600_000 + 61_000);
    await stage.call('POST', `/v1/status-pages/incidents/${incident.id}/incident-updates`, update);
    const { accountId, store } = stage.harness;
    const at = stage.clock.wallMs();
    const [mail] = await store.subscriberMails.claim(accountId, at, 10, at + 60_000);
    if (!mail) throw new Error('no mail waits');
    const shown = (await stage.call('GET', '/v1/public/status-pages/ours')).incidents.find(
      ({ id }: { id: string }) => id === incident.id,
    );
    const [newest] = shown.incidentUpdates;
    const instant = `${newest.publicIncidentUpdateDate.slice(0, 16).replace('T', ' ')} UTC`;
    expect(mail.subject).toBe('[Ours] Resolved: Slow');
    expect(mail.text.split('\n\n')).toEqual([
      newest.description,
      `Severity: minor. Services: ${shown.services.map(({ name }: { name: string }) => name).join(', ')}.`,
      instant,
    ]);
    const feed = await new Visitor(stage.harness.app).get('/status/ours/incidents.json');
    expect(JSON.parse(feed.body).items[0].content_text).toContain(
      `${instant}, Resolved: ${newest.description}`,
    );
    expect(figureProblems(mail.text)).toEqual([]);
  });
});
