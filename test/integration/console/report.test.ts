import { afterAll, beforeAll, expect, it } from 'vitest';
import { ManualClock } from '../../helpers/manual-clock.ts';
import { createCheck, openHarness, type ServiceHarness, until } from '../../helpers/service/service.ts';
import { loggedIn, type Visitor } from '../../helpers/service/visitor.ts';

const clock = new ManualClock(Date.UTC(2026, 10, 22, 12));
let harness: ServiceHarness;
let reader: Visitor;
const ids: string[] = [];

beforeAll(async () => {
  harness = await openHarness({ clock });
  reader = await loggedIn(harness, 'READ_ONLY');
  const fields = { privateLocations: [], locations: ['eu-west-1'] };
  for (const name of ['Shop "one"', 'Desk']) {
    ids.push(
      (await createCheck(harness, { name, tags: name === 'Desk' ? ['desk'] : ['shop'], ...fields })).id,
    );
  }
  // A day without the service: slots that were not measured.
  clock.advance(24 * 3_600_000);
  harness.startScheduler();
  await until('slots are recorded', async () => {
    const recorded = await Promise.all(ids.map((id) => harness.store.runs.ofCheck(id)));
    return recorded.every((runs) => runs.length > 1);
  });
});
afterAll(() => harness.close());

/** The numbers of each row by column title. */
function rowsOf(body: string): Record<string, number>[] {
  const rows = body.match(/<tbody>[\s\S]*<\/tbody>/)?.[0].split('</tr>') ?? [];
  return rows
    .filter((row) => row.includes('<td'))
    .map((row) =>
      Object.fromEntries(
        [...row.matchAll(/data-label="([^"]+)">(?:<a [^>]*>)?([\d,]+)(?:<\/a>)?<\/td>/g)].map(
          ([, title = '', text = '']) => [title, Number(text.replaceAll(',', ''))],
        ),
      ),
    );
}

it('has rows whose parts add up to the due slots, and a total that adds up to the rows', async () => {
  const { body } = await reader.get('/report?range=last7Days');
  const rows = rowsOf(body);
  expect(rows).toHaveLength(3);
  for (const { Due = 0, ...parts } of rows) {
    expect(Due).toBeGreaterThan(1000);
    expect(Object.values(parts).reduce((sum, one) => sum + one, 0)).toBe(Due);
  }
  const [shop, desk, whole] = rows.map(({ Due = 0 }) => Due);
  expect((shop ?? 0) + (desk ?? 0)).toBe(whole);
  // The same as in the ledger, by another operation.
  const from = new Date(clock.wallMs() - 7 * 86_400_000).toISOString();
  const counts = await Promise.all(
    ids.map(async (id) => (await harness.call('GET', `/v1/checks/${id}/slots/count?from=${from}`)).body.due),
  );
  expect(counts.reduce((sum, due) => sum + due, 0)).toBe(whole);
  expect(rows[2]?.['missed: service-away']).toBeGreaterThan(1000);
});

it('links each sum to its records, which add up to it', async () => {
  const { body } = await reader.get('/report?range=last7Days');
  const [, href = '', shown = ''] =
    /<a href="([^"]*state=MISSED[^"]*reason=service-away)">([\d,]+)<\/a>/.exec(body) ?? [];
  const records = await reader.get(href.replaceAll('&amp;', '&'));
  expect(records.status).toBe(200);
  const several = [...records.body.matchAll(/<b>([\d,]+) runs<\/b>/g)].map(([, count = '']) =>
    Number(count.replaceAll(',', '')),
  );
  const single = records.body.match(/<td[^>]*data-label="Outcome">/g)?.length ?? 0;
  const sum = several.reduce((total, count) => total + count, single - several.length);
  expect(sum).toBe(Number(shown.replaceAll(',', '')));
  expect(records.body).toContain('The service was not running.');
  const other = await reader.get(href.replaceAll('&amp;', '&').replace('MISSED', 'FINAL'));
  expect(other.body).toContain('none matches');
  const wrong = await reader.get(`/checks/${ids[0]}/slots?from=x&state=y&reason=%3Cb%3E&nextId=z`);
  expect([wrong.status, wrong.body.includes('<b>y')]).toEqual([400, false]);
});

it('equals the table that it links to', async () => {
  const { body } = await reader.get('/report?range=last7Days&zone=Europe%2FBerlin&tag=desk');
  const link = /href="(\/report\/report\.csv[^"]*)"/.exec(body)?.[1]?.replaceAll('&amp;', '&') ?? '';
  // From noon of the 16th to noon of the 23rd.
  expect(body).toContain(
    'Last 7 days</b>: 2026-11-16 13:00 to 2026-11-23 13:00, local time in Europe/Berlin',
  );
  const csv = await reader.get(link);
  expect(csv.headers['content-type']).toContain('text/csv');
  const [titles = '', row = '', rest] = csv.body.split('\r\n');
  expect(rest).toBe('');
  const cells = Object.fromEntries(titles.split(',').map((title, index) => [title, row.split(',')[index]]));
  expect(cells).toMatchObject({ name: 'Desk', slots_due: String(rowsOf(body)[0]?.Due) });
  expect((await reader.get('/report/other.csv')).status).toBe(404);
});

it('shows whole days in the local time of a zone, and reports errors in a query', async () => {
  const days = await reader.get('/report?first=2026-11-22&last=2026-11-22&zone=Europe%2FBerlin');
  expect(days.body).toContain('2026-11-22 to 2026-11-22');
  // From noon in UTC to midnight in Berlin: eleven hours with one slot per minute.
  expect(rowsOf(days.body).map(({ Due }) => Due)).toEqual([660, 660, 1320]);
  const wrong = await reader.get('/report?zone=%3Csvg%3E');
  expect(wrong.body).toContain('does not exist. The times below are UTC');
  expect(wrong.body).not.toContain('<svg>,');
});
