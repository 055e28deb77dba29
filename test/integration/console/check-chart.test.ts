import { afterAll, beforeAll, expect, it } from 'vitest';
import { failure } from '../../../src/checks/contract/failure.ts';
import { httpDetail } from '../../helpers/console/http-detail.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  reportOf,
  type ServiceHarness,
  TestAgent,
  until,
} from '../../helpers/service/service.ts';
import { loggedIn, Visitor } from '../../helpers/service/visitor.ts';

// A check at a location that passes, at one that fails for a while, and at one without agents.
const start = Date.UTC(2026, 10, 22, 12);
const rounds = 12;
const clock = new ManualClock(start);
let harness: ServiceHarness;
let visitor: Visitor;
let id: string;

beforeAll(async () => {
  harness = await openHarness({ clock });
  visitor = new Visitor(harness.app);
  await visitor.post('/login', { key: harness.key });
  const agents = [];
  for (const name of ['berlin', 'tokyo']) {
    agents.push(new TestAgent(harness, await createLocation(harness, name)));
  }
  await createLocation(harness, 'empty');
  const fields = { retryStrategy: null, doubleCheck: false, runParallel: true, tags: ['shop'] };
  const places = ['berlin', 'tokyo', 'empty'];
  ({ id } = await createCheck(harness, { name: 'shop', privateLocations: places, ...fields }));
  const window = await harness.call('POST', '/v1/maintenance-windows', {
    name: 'Move <b>',
    startsAt: new Date(start + 60_000).toISOString(),
    endsAt: new Date(start + 120_000).toISOString(),
    silenceAlertsTags: ['shop'],
  });
  expect(window.status).toBe(201);
  harness.startScheduler();
  harness.startLeaseSweep();
  for (let round = 0; round < rounds; round += 1) {
    clock.advance(60_000);
    for (const [index, agent] of agents.entries()) {
      await until('the slot of the minute has run', async () => {
        const runs = await agent.claim({ checkTypes: ['API', 'URL'] });
        const isFailing = index === 1 && round >= 4 && round < 6;
        if (runs.length === 0) {
          clock.advance(20);
          return false;
        }
        await agent.report(
          runs.map((run) =>
            reportOf(
              run,
              isFailing
                ? { failure: failure('CONNECTION_REFUSED', 'connect ECONNREFUSED') }
                : { detail: httpDetail(), responseTimeMs: 80 + index * 100 },
            ),
          ),
        );
        return true;
      });
    }
  }
  await harness.call('PUT', `/v1/checks/${id}`, { degradedResponseTime: 4_000 });
});
afterAll(() => harness.close());

const page = async (query: string) => (await visitor.get(`/checks/${id}?${query}`)).body;
/** The lanes of a page by their names. */
function lanesOf(body: string): Map<string, string> {
  const lanes = body.split(/<div class="lane(?: lane-scale| lane-main)?">/).slice(1);
  return new Map(lanes.map((lane) => [/lane-name">([^<]*)</.exec(lane)?.[1] ?? '', lane]));
}
const barsOf = (lane = '') =>
  Object.fromEntries(
    [...Map.groupBy(lane.matchAll(/class="bar bar-(\w+)"/g), ([, state = '']) => state)].map(
      ([state, list]) => [state, list.length],
    ),
  );

it('has a lane for each location, for alerts, changes and maintenance, on one axis', async () => {
  const body = await page('range=1h');
  const lanes = lanesOf(body);
  expect([...lanes.keys()]).toEqual(['', 'berlin', 'empty', 'tokyo', 'Alerts', 'Changes', 'Maintenance']);
  expect(barsOf(lanes.get('berlin'))).toMatchObject({ passed: rounds });
  expect(barsOf(lanes.get('tokyo'))).toMatchObject({ failed: 2, passed: rounds - 2 });
  expect(barsOf(lanes.get('empty')).missed).toBeGreaterThan(5);
  expect(lanes.get('tokyo')).toMatch(
    /href="\/checks\/[\w-]+\/runs\/[\w-]+" tabindex="-1"><title>2026-11-22 [^<]*\nfailed/,
  );
  expect(lanes.get('Changes')).toContain('Changed by test: degradedResponseTime');
  expect(lanes.get('Maintenance')).toContain('Maintenance: Move &lt;b&gt; (alerts are silenced)');
  expect(body).not.toContain('class="hit gap"');
});

it('shows one location alone, with its figures and its gaps', async () => {
  const tokyo = await page('range=1h&location=tokyo');
  expect([...lanesOf(tokyo).keys()]).toEqual(['', 'tokyo', 'Alerts', 'Changes', 'Maintenance']);
  expect(tokyo).toContain('p50 180 ms');
  expect(tokyo).not.toContain('p50 80 ms');
  const empty = await page('range=1h&location=empty');
  expect(empty).toMatch(
    /<title>[^<]*\nNot measured: No agent of the location polled for work<\/title><rect class="hit gap"/,
  );
  expect(empty).toContain('<dt>Available</dt><dd>–');
  const unknown = await page(`range=1h&location=${encodeURIComponent('<i>')}`);
  expect(unknown).toContain('Only &lt;i&gt;');
});

it('draws a line for each location, whose name in the legend leads to it alone', async () => {
  const body = await page('range=1h&by=location');
  expect(lanesOf(body).get('')).toMatch(/\nberlin [\d.]+ ms, tokyo [\d.]+ ms</);
  expect(body).toContain(`<a href="/checks/${id}?range=1h&amp;location=tokyo&amp;by=location">tokyo</a>`);
});

it('combines the runs of a range with too many of them, and loses no failure', async () => {
  await harness.call('PUT', `/v1/checks/${id}`, { frequency: 0, frequencyOffset: 10 });
  // The check is old enough for a day to have more slots than one page of the API.
  clock.advance(86_400_000);
  const from = new Date(start - 3_600_000).toISOString();
  const body = await page(`from=${from}&to=${new Date(start + 86_400_000).toISOString()}`);
  const lanes = lanesOf(body);
  expect(barsOf(lanes.get('tokyo'))).toMatchObject({ failed: 1 });
  expect(lanes.get('tokyo')).toMatch(/\n\d+ runs: 2 failed, \d+ passed/);
  expect(lanes.get('tokyo')).toMatch(/href="\/checks\/[\w-]+\?from=2026-11-22T12%3A00/);
  expect(body).toContain('Each column combines the runs of its interval');
});

it('offers changes to those who may make them', async () => {
  const reader = await loggedIn(harness, 'READ_ONLY');
  const shown = (await reader.get(`/checks/${id}`)).body;
  expect(shown).toContain('class="chart"');
  expect(shown).not.toMatch(/Mute alerts|Delete the check|Run now/);
  const refused = await reader.post(`/checks/${id}/muted`, { muted: 'true' });
  expect(refused.status).toBe(403);
  expect(await page('range=1h')).toMatch(/Mute alerts[\s\S]*Delete the check/);
});
