import { afterAll, beforeAll, expect, it } from 'vitest';
import { formOf, plainText } from '../../helpers/console/editor-form.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  type ServiceHarness,
} from '../../helpers/service/service.ts';
import { loggedIn, type Visitor } from '../../helpers/service/visitor.ts';

// A Saturday.
const clock = new ManualClock(Date.UTC(2026, 10, 28, 12));
let harness: ServiceHarness;
let writer: Visitor;
beforeAll(async () => {
  harness = await openHarness({ clock });
  await createLocation(harness, 'lab');
  writer = await loggedIn(harness);
});
afterAll(() => harness.close());

const weekdays = { 'activeHours.windows.0.weekdays': 'MON', 'activeHours.windows.0.from': '08:00' };
const hours = {
  ...{ activeHours: 'object', 'activeHours.mode': 'RUN', 'activeHours.timeZone': 'Europe/Berlin' },
  ...{ ...weekdays, 'activeHours.windows.0.to': '18:00' },
};

it('the form of a check shows the next hours and times, and saves them', async () => {
  const form = {
    ...formOf((await writer.get('/checks/new?type=URL')).body),
    ...{ name: 'Shop', 'request.url': 'http://shop.test/', privateLocations: 'lab' },
    ...{ ...hours, frequency: '10', frequencyWhileFailing: '1' },
  };
  const preview = async (changes: object) =>
    (await writer.post('/checks/schedule-preview', { ...form, ...changes })).body;
  expect(await preview({ activeHours: '' })).toContain('It runs at its interval, at all times.');
  const spans = await preview({});
  expect(spans).toContain('Mon, 30 Nov 2026, 08:00 Europe/Berlin to Mon, 30 Nov 2026, 18:00 Europe/Berlin');
  const schedule = {
    schedule: 'object',
    'schedule.cron': '0 */6 * * *',
    'schedule.timeZone': 'Europe/Berlin',
  };
  const times = await preview(schedule);
  expect(times.match(/12:00 Europe\/Berlin/g)).toHaveLength(10);
  expect(times).not.toContain('06:00 Europe/Berlin');
  expect(await preview({ ...schedule, 'schedule.cron': '61 * * * *' })).toContain('schedule.cron is');

  const file =
    'BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20991225\r\nEND:VEVENT\r\nEND:VCALENDAR';
  const { headers } = await writer.post('/checks/new', { ...form, 'activeHours.holidays': file });
  const id = /\/checks\/([0-9a-f-]{36})/.exec(String(headers['location']))?.[1] ?? '';
  const { body } = await harness.call('GET', `/v1/checks/${id}`);
  expect(body).toMatchObject({ frequency: 10, frequencyWhileFailing: 1, schedule: null });
  expect(body.activeHours).toEqual({
    ...{ timeZone: 'Europe/Berlin', mode: 'RUN', holidays: ['2099-12-25'] },
    windows: [{ weekdays: ['MON'], from: '08:00', to: '18:00' }],
  });
  const again = formOf((await writer.get(`/checks/${id}/edit`)).body);
  expect(again).toMatchObject({ ...hours, frequencyWhileFailing: '1', 'activeHours.holidays': '2099-12-25' });
});

it('a form hides and resets what has no effect beside a schedule', async () => {
  const page = (await writer.get('/checks/new?type=URL')).body;
  expect(page).toMatch(/unused-with-schedule">\s*<div class="field"><label for="field-frequency"/);
  const form = {
    ...formOf(page),
    ...{ name: 'Shop', 'request.url': 'http://shop.test/', privateLocations: 'lab', frequency: '5' },
    ...{ schedule: 'object', 'schedule.cron': '0 3 * * *', 'schedule.timeZone': 'UTC' },
  };
  const saved = async (path: string, fields: Record<string, string>) => {
    const { headers } = await writer.post(path, fields);
    const id = /\/checks\/([0-9a-f-]{36})/.exec(String(headers['location']))?.[1] ?? '';
    return (await harness.call('GET', `/v1/checks/${id}`)).body;
  };
  // Nothing is lost while the form is filled in.
  const typed = formOf((await writer.post('/checks/new', { ...form, $do: 'add activeHours.windows' })).body);
  expect(typed).toMatchObject({ frequency: '5', schedule: 'object' });
  const check = await saved('/checks/new', form);
  expect(check).toMatchObject({ frequency: 10, schedule: { cron: '0 3 * * *' } });
  // A frequency that someone set beside a schedule stays as it is, with its warning.
  await harness.call('PUT', `/v1/checks/${check.id}`, { frequency: 5 });
  const edit = (await writer.get(`/checks/${check.id}/edit`)).body;
  expect(plainText(edit)).toContain('"frequency" has no effect');
  expect(await saved(`/checks/${check.id}/edit`, { ...formOf(edit), name: 'other' })).toMatchObject({
    ...{ name: 'other', frequency: 5 },
  });

  const heartbeat = {
    ...formOf((await writer.get('/checks/new?type=HEARTBEAT')).body),
    ...{ name: 'Backup', 'heartbeat.schedule': 'object', 'heartbeat.schedule.cron': '0 3 * * *' },
  };
  expect(heartbeat).toMatchObject({ 'heartbeat.period': '1', 'heartbeat.periodUnit': 'days' });
  expect(await saved('/checks/new', heartbeat)).toMatchObject({
    heartbeat: { period: null, periodUnit: null, schedule: { cron: '0 3 * * *' } },
  });
});

it('the page of a check outside its hours says so, and when it runs next', async () => {
  const activeHours = { windows: [{ weekdays: ['MON', 'TUE', 'WED'], from: '08:00', to: '18:00' }] };
  const check = await createCheck(harness, {
    privateLocations: ['lab'],
    activeHours,
    frequencyWhileFailing: 0,
  });
  const { body } = await writer.get(`/checks/${check.id}`);
  expect(body).toContain(
    'It is outside its hours, so no run is due. The next one is at Mon, 30 Nov 2026, 08:0',
  );
  expect(body).toContain('Mon to Wed 08:00 to 18:00 (UTC)');
  expect(body).toContain('every 30 s');
  expect(body).toMatch(/Paused/);
  clock.advance(2 * 86_400_000);
  expect((await writer.get(`/checks/${check.id}`)).body).not.toContain('outside its hours');
});

it('the page of a check on a schedule names it, and its next times', async () => {
  const check = await createCheck(harness, {
    ...{ privateLocations: ['lab'], schedule: { onCalendar: 'Mon..Fri 03:00', timeZone: 'Europe/Berlin' } },
  });
  const { body } = await writer.get(`/checks/${check.id}`);
  expect(body).toContain('on a schedule');
  expect(body).toContain('<code>Mon..Fri 03:00</code> in Europe/Berlin');
  expect(body.match(/03:00 Europe\/Berlin/g)).toHaveLength(10);
});

it('the chart begins with a range for the runs that its hours, those of its group, or its schedule allow', async () => {
  const oneHour = {
    windows: [{ weekdays: ['MON', 'TUE', 'WED', 'THU', 'FRI'], from: '08:00', to: '09:00' }],
  };
  const { body: group } = await harness.call('POST', '/v1/check-groups', {
    ...{ name: 'In the morning', activeHours: oneHour },
  });
  const every = { privateLocations: ['lab'], frequency: 10 };
  const ids = [
    (await createCheck(harness, every)).id,
    (await createCheck(harness, { ...every, activeHours: oneHour })).id,
    (await createCheck(harness, { ...every, groupId: group.id })).id,
    // Ten runs in an hour of the day, and none in the others.
    (await createCheck(harness, { ...every, schedule: { cron: '0-54/6 8 * * *' } })).id,
    (await createCheck(harness, { ...every, schedule: { cron: '*/6 * * * *' } })).id,
  ];
  clock.advance(40 * 86_400_000);
  const reader = await loggedIn(harness);
  const rangeOf = async (id: string) =>
    /aria-current="true">([^<]+)<\/a><\/li>/.exec((await reader.get(`/checks/${id}`)).body)?.[1];
  expect(await Promise.all(ids.map(rangeOf))).toEqual(['24 h', '30 d', '30 d', '30 d', '24 h']);
});
