import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { expandCheck } from '../../../src/cli/shorthand/expand.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  type ServiceHarness,
} from '../../helpers/service/service.ts';

let harness: ServiceHarness;

beforeAll(async () => {
  harness = await openHarness();
  await createLocation(harness, 'lab');
});
afterAll(() => harness.close());

const monday = { weekdays: ['MON'], from: '08:00', to: '18:00' };
const url = { name: 'Shop', request: { url: 'https://shop.test/' }, privateLocations: ['lab'] };
const browser = {
  ...{ name: 'Shop', privateLocations: ['lab'] },
  script: "import { test } from '@playwright/test'; test('opens', async () => {});",
};
const heartbeat = {
  name: 'Backup',
  heartbeat: { period: 1, periodUnit: 'days', grace: 1, graceUnit: 'hours' },
};
const daily = { cron: '0 3 * * *', timeZone: 'Europe/Berlin' };

it.each<[string, string, Record<string, unknown>, string, string]>([
  [
    'url',
    'an unknown zone',
    { activeHours: { timeZone: 'Mars/Base', windows: [monday] } },
    'activeHours.timeZone',
    'time zone',
  ],
  ['url', 'no hours at all', { activeHours: {} }, 'activeHours.windows', 'is empty'],
  [
    'url',
    'a window of no length',
    { activeHours: { windows: [{ ...monday, to: '08:00' }] } },
    'activeHours.windows.0.to',
    'must differ',
  ],
  [
    'url',
    'a time that is none',
    { activeHours: { windows: [{ ...monday, from: '8am' }] } },
    'activeHours.windows.0.from',
    'must be a time',
  ],
  [
    'url',
    'a date that is none',
    { activeHours: { holidays: ['2026-02-30'] } },
    'activeHours.holidays.0',
    'must be a date',
  ],
  [
    'url',
    'holidays in the wrong order',
    { activeHours: { holidays: ['2027-01-02/2027-01-01'] } },
    'activeHours.holidays.0',
    'must be a date',
  ],
  [
    'url',
    'no time to run',
    {
      activeHours: {
        mode: 'PAUSE',
        windows: [
          { weekdays: ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN'], from: '00:00', to: '24:00' },
        ],
      },
    },
    'activeHours',
    'leaves no time',
  ],
  [
    'url',
    'a calendar that cannot be read',
    {
      activeHours: {
        holidays: ['BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20270101\nRRULE:FREQ=WEEKLY\nEND:VEVENT'],
      },
    },
    'activeHours.holidays',
    'the iCalendar file has the RRULE',
  ],
  [
    'url',
    'a frequency while failing that is no less',
    { frequency: 5, frequencyWhileFailing: 5 },
    'frequencyWhileFailing',
    'must be less',
  ],
  [
    'browser',
    'seconds, of a type without them',
    { frequencyWhileFailing: 0 },
    'frequencyWhileFailing',
    'must not be 0',
  ],
  [
    'url',
    'a schedule with both',
    { schedule: { cron: '@daily', onCalendar: 'daily' } },
    'schedule.cron',
    'either',
  ],
  ['url', 'a schedule that is none', { schedule: { cron: 'at noon' } }, 'schedule.cron', 'five fields'],
  [
    'browser',
    'a schedule that is too often',
    { schedule: { onCalendar: '*:*:0/30' } },
    'schedule.onCalendar',
    'less than 60 seconds',
  ],
  [
    'url',
    'a schedule outside the hours',
    { schedule: daily, activeHours: { timeZone: 'Europe/Berlin', windows: [monday] } },
    'activeHours',
    'leaves out all',
  ],
  [
    'heartbeat',
    'hours of a heartbeat',
    { activeHours: { windows: [monday] } },
    'activeHours',
    'no agent runs',
  ],
  ['heartbeat', 'a schedule of runs of a heartbeat', { schedule: daily }, 'schedule', 'no agent runs'],
])('refuses for /checks/%s: %s', async (path, _what, fields, key, message) => {
  const base = path === 'heartbeat' ? heartbeat : path === 'browser' ? browser : url;
  const { status, body } = await harness.call('POST', `/v1/checks/${path}`, { ...base, ...fields });
  expect([status, body.validation?.keys]).toEqual([400, [key]]);
  expect(body.message).toContain(message);
});

it('refuses hours of a group that it would refuse of a check', async () => {
  const { status } = await harness.call('POST', '/v1/check-groups', { name: 'g', activeHours: {} });
  expect(status).toBe(400);
});

it('takes holidays from an iCalendar file, and shows them as days', async () => {
  const file =
    'BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20991224\r\nDTEND;VALUE=DATE:20991227\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n';
  for (const holidays of [[file], file.split('\r\n')]) {
    const { body } = await harness.call('POST', '/v1/checks/url', { ...url, activeHours: { holidays } });
    expect(body.activeHours).toEqual({
      ...{ timeZone: 'UTC', mode: 'RUN', windows: [], holidays: ['2099-12-24/2099-12-26'] },
    });
    // A body that was read can be written.
    expect((await harness.call('PUT', `/v1/checks/${body.id}`, body)).status).toBe(200);
  }
});

it('accepts the example of the documents', async () => {
  const page = await readFile('docs/reference/checks.md', 'utf8');
  const [, example = ''] = /## When a check runs\n.*?```yaml\n(.*?)```/s.exec(page) ?? [];
  const { fields, problems } = expandCheck(parse(example.replace('branch', 'lab')));
  expect(problems).toEqual([]);
  const { status, body } = await harness.call('POST', '/v1/checks', fields);
  expect([status, body.frequencyWhileFailing, body.activeHours?.windows?.length]).toEqual([201, 1, 1]);
});

it('says when a check is due next, and when it is not scheduled', async () => {
  const check = await createCheck(harness, { privateLocations: ['lab'], schedule: daily });
  const get = async () => (await harness.call('GET', `/v1/checks/${check.id}`)).body;
  const times = await harness.call('GET', '/v1/schedule-times?cron=0%203%20*%20*%20*&timeZone=Europe/Berlin');
  expect((await get()).nextRunAt).toBe(times.body.times[0]);
  await harness.call('PUT', `/v1/checks/${check.id}`, { schedule: null, frequency: 60 });
  expect(Date.parse((await get()).nextRunAt) - Date.now()).toBeLessThanOrEqual(3_600_000);
  await harness.call('PUT', `/v1/checks/${check.id}`, { activated: false });
  expect((await get()).nextRunAt).toBeNull();
});
