import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { formOf, plainText } from '../../helpers/console/editor-form.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import { isNight } from '../../helpers/night.ts';
import { openHarness, type ServiceHarness } from '../../helpers/service/service.ts';
import { loggedIn, type Visitor } from '../../helpers/service/visitor.ts';

const run = promisify(execFile);
const clock = new ManualClock(Date.UTC(2026, 10, 28, 12));
let harness: ServiceHarness;
let writer: Visitor;
let folder: string;
let host: string;
beforeAll(async () => {
  harness = await openHarness({ clock });
  host = await harness.app.listen({ port: 0, host: '127.0.0.1' });
  writer = await loggedIn(harness);
  folder = await mkdtemp(join(tmpdir(), 'picket-ping-'));
  await writeFile(join(folder, 'job.sh'), '#!/bin/sh\nexit 0\n', { mode: 0o755 });
});
afterAll(async () => {
  await harness.close();
  await rm(folder, { recursive: true });
});

async function addHeartbeat(period = 1, periodUnit = 'hours'): Promise<string> {
  const heartbeat = { period, periodUnit, grace: 10, graceUnit: 'minutes' };
  return (await harness.call('POST', '/v1/checks/heartbeat', { name: 'job', heartbeat })).body.id;
}

const newForm = async (type: string) => formOf((await writer.get(`/checks/new?type=${type}`)).body);

/** The page of a heartbeat, as a browser at the address of the service sees it. */
async function pageOf(id: string, query = ''): Promise<string> {
  const headers = { cookie: writer.cookieHeader(), accept: 'text/html' };
  return (await fetch(`${host}/checks/${id}${query}`, { headers })).text();
}

const shown = (page: string, what: string) =>
  plainText(new RegExp(`aria-label="${what}">([^<]*)<`).exec(page)?.[1] ?? '');
const events = async (id: string) =>
  (await harness.call('GET', `/v1/checks/heartbeats/${id}/events`)).body[0].events.length;
const shell = (command: string, environment: Record<string, string> = {}) =>
  run('sh', ['-c', command], { cwd: folder, env: { ...process.env, ...environment } });

it.each([
  ['curl', (line: string) => line],
  // The five fields of the schedule come before the command.
  ['cron', (line: string) => line.replace(/^(?:\S+ ){5}/, '')],
  ['systemd', (line: string) => /^ExecStartPost=(.*)$/m.exec(line)?.[1] ?? ''],
])('the line for %s sends a ping as it is shown', async (name, commandOf) => {
  const id = await addHeartbeat();
  const line = shown(await pageOf(id), `line for ${name}`);
  await shell(commandOf(line));
  expect(await events(id)).toBe(1);
});

it('the line for the start and the exit code sends both, and the page shows them', async () => {
  const id = await addHeartbeat();
  const line = shown(await pageOf(id), 'line for start, duration and exit code');
  await shell(line.replace('./job.sh', './job.sh; (exit 3)'));
  const page = await pageOf(id);
  expect(page).toContain('The job ended with exit code 3.');
  // The clock stands still, so the two have no order.
  for (const text of [/>failed<\/a>/, />3<\/td>/, />started<\/td>/]) expect(page).toMatch(text);
  await shell(line.replace(/;.*/s, ''));
  const second = new URL(shown(page, 'ping URL'));
  await fetch(`${second.href}/log`, { method: 'POST', body: '<b>half</b> done' });
  const later = await pageOf(id);
  expect(later).toContain('1 run is in progress: since');
  expect(later).toContain('&lt;b&gt;half&lt;/b&gt; done');
});

it('the step for GitHub Actions sends a ping with the URL as a secret', async () => {
  const id = await addHeartbeat();
  const page = await pageOf(id);
  const [step] = parse(shown(page, 'line for GitHub Actions')) as [
    { run: string; env: Record<string, string> },
  ];
  expect(step.env).toEqual({ PING_URL: '${{ secrets.PING_URL }}' });
  await shell(step.run, { PING_URL: shown(page, 'ping URL') });
  expect(await events(id)).toBe(1);
});

it.each([
  [5, 'minutes', '*/5 * * * *'],
  [2, 'hours', '0 */2 * * *'],
  [1, 'days', '0 3 * * *'],
  [7, 'days', '0 3 * * 1'],
  [30, 'days', '0 3 1 * *'],
])('the schedule of cron fits a period of %i %s', async (period, unit, schedule) => {
  const line = shown(await pageOf(await addHeartbeat(period, unit)), 'line for cron');
  expect(line.startsWith(`${schedule} ./job.sh && curl `)).toBe(true);
});

it('the form and the page of a schedule show its next ten times', async () => {
  const form = {
    ...(await newForm('HEARTBEAT')),
    ...{ name: 'weekly', 'heartbeat.period': '', 'heartbeat.schedule': 'object' },
    ...{ 'heartbeat.schedule.cron': '0 3 * * MON', 'heartbeat.schedule.timeZone': 'Europe/Berlin' },
  };
  const preview = async (changes: object) =>
    (await writer.post('/checks/schedule-preview', { ...form, ...changes })).body;
  const times = await preview({});
  expect(times).toContain('Mon, 30 Nov 2026, 03:00 Europe/Berlin');
  expect(times.match(/03:00 Europe\/Berlin/g)).toHaveLength(10);
  expect(await preview({ 'heartbeat.schedule.cron': '0 25 * * *' })).toContain('heartbeat.schedule.cron is');
  expect(await preview({ 'heartbeat.schedule': '' })).toContain('an interval after the last one');
  const { headers } = await writer.post('/checks/new', form);
  const id = /\/checks\/([0-9a-f-]{36})/.exec(String(headers['location']))?.[1] ?? '';
  const page = await pageOf(id);
  expect(page).toContain('at the times of <code>0 3 * * MON</code> in Europe/Berlin');
  expect(page.match(/03:00 Europe\/Berlin/g)).toHaveLength(10);
  expect(shown(page, 'line for cron').startsWith('0 3 * * MON ./job.sh && curl ')).toBe(true);
});

it('the page says when the next ping is expected, and offers no run', async () => {
  const id = await addHeartbeat();
  const first = await pageOf(id);
  expect(first).toContain(
    'A ping is expected every 1 h, and may be up to 10 min late. It waits for its first ping.',
  );
  expect(first).not.toContain('Run now');
  expect(first).not.toContain('every 10 min<');
  await shell(shown(first, 'line for curl'));
  expect(await pageOf(id)).toMatch(
    /The next one is expected at <time datetime="2026-11-28T13:00:00[^<]*<\/time>\. It fails if none arrives by <time datetime="2026-11-28T13:10:00/,
  );
  clock.advance(65 * 60_000);
  expect(await pageOf(id)).toContain('and is late.');
  await harness.call('PUT', `/v1/checks/heartbeat/${id}`, {
    activated: false,
    heartbeat: { period: 1, periodUnit: 'hours', grace: 10, graceUnit: 'minutes', pingToken: '' },
  });
  expect(await pageOf(id)).toContain('It is paused');
});

it('the URL is not shown to those who may only read', async () => {
  const id = await addHeartbeat();
  const { heartbeat } = (await harness.call('GET', `/v1/checks/${id}`)).body;
  const reader = await loggedIn(harness, 'READ_ONLY');
  const { body } = await reader.get(`/checks/${id}`);
  expect(body).toContain('A ping is expected every 1 h');
  expect(body).not.toContain(heartbeat.pingToken);
});

describe('the chart of a heartbeat', () => {
  const minuteMs = 60_000;
  /** Sends pings of a job that takes ten minutes longer each time. */
  const ping = async (id: string, count: number, everyMs: number) => {
    const { heartbeat } = (await harness.call('GET', `/v1/checks/${id}`)).body;
    const { pathname } = new URL(heartbeat.pingUrl, host);
    for (let sent = 1; sent <= count; sent += 1) {
      const url = `${pathname}?ping=${(sent % 6) * 10 * minuteMs}`;
      expect((await harness.app.inject({ method: 'POST', url })).statusCode).toBe(200);
      clock.advance(everyMs);
    }
  };
  const chartOf = (page: string) => /<section id="runs">[\s\S]*?<\/section>/.exec(page)?.[0] ?? '';

  it('shows how long its jobs took, over a range that fits its rhythm, as the API does', async () => {
    // Intervals of two hours begin at even ones.
    clock.advance(120 * minuteMs - (clock.wallMs() % (120 * minuteMs)));
    const id = await addHeartbeat(1, 'hours');
    const from = clock.wallMs();
    expect(chartOf(await pageOf(id))).toContain('<h2>Pings</h2>');
    await ping(id, 3, 60 * minuteMs);
    const page = await pageOf(id);
    expect(page).toMatch(/aria-current="true"[^>]*>6 h</);
    const chart = chartOf(await pageOf(id, '?range=7d'));
    expect(chart).toContain('<h2>Duration of the job and pings</h2>');
    expect(chart).toMatch(/p50 10 min, p95 20 min, p99 20 min, Average 15 min/);
    // Pings come from no location: a link of another check's page shows all of them.
    expect(await pageOf(id, '?range=7d&by=location&location=lab')).toContain('Average 15 min');
    // The axis has steps of a clock: 10 min, not 8 min 20 s.
    expect(chart).toMatch(/>10 min<\/text>/);
    const { body } = await harness.call(
      'GET',
      `/v1/analytics/heartbeat-checks/${id}?metrics=responseTime_max&aggregationInterval=60&from=${from}&to=${clock.wallMs()}`,
    );
    expect(body.series[0].data.map((row: object) => Object.values(row).at(-1))).toEqual(
      [10, 20, 30].map((minutes) => minutes * minuteMs),
    );
    expect(body.coverageIntervals).toHaveLength(3);
    const grouped = `/v1/analytics/heartbeat-checks/${id}?metrics=availability&groupBy=runLocation`;
    expect((await harness.call('GET', grouped)).status).toBe(400);
  });

  const inTheNight = isNight ? it : () => undefined;
  inTheNight('counts every ping of a range with more than a thousand', async () => {
    const id = await addHeartbeat(1, 'minutes');
    await ping(id, 1_201, minuteMs);
    const whole = chartOf(await pageOf(id, '?range=24h'));
    expect(whole).toMatch(/Passed 1,?201/);
    expect(whole).toContain('Each column combines the runs of its interval');
    expect(chartOf(await pageOf(id, '?range=6h'))).toMatch(/Passed 3(59|60)</);
  });
});
