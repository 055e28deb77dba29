import { afterAll, beforeAll, expect, it } from 'vitest';
import { failure } from '../../../src/checks/contract/failure.ts';
import type { ResultReport } from '../../../src/protocol/agent/agent.ts';
import { expectNarrowEnough, expectNothingForAxe } from '../../helpers/console/accessibility.ts';
import { ConsoleStage } from '../../helpers/console/console-stage.ts';
import { routeDetail } from '../../helpers/console/route-detail.ts';

const hostile = '<img src=x onerror=alert(1)>';
const message =
  'The way to 203.0.113.200 ends at hop 7 (203.0.113.77), which says: destination host prohibited';
const reports: readonly Partial<ResultReport>[] = [
  { detail: routeDetail(), responseTimeMs: 48 },
  { detail: routeDetail(), responseTimeMs: 48 },
  { detail: routeDetail({ thirdHop: '198.51.100.99', name: hostile }), responseTimeMs: 48 },
  {
    detail: routeDetail({ isReached: false }),
    failure: failure('HOST_UNREACHABLE', message),
    errorMessages: [message],
  },
  { detail: routeDetail({ isForwarded: true }), responseTimeMs: 49 },
];

let stage: ConsoleStage;
let runs: string[];
beforeAll(async () => {
  stage = await ConsoleStage.open();
  const { body: check } = await stage.harness.call('POST', '/v1/checks/traceroute', {
    ...{ name: 'way', frequency: 1, privateLocations: ['lab'], retryStrategy: null, doubleCheck: false },
    request: { url: 'shop.example.com' },
  });
  stage.checks.set('way', check.id);
  for (const report of reports) await stage.runOnce(() => report);
  const { body: results } = await stage.harness.call('GET', `/v1/check-results/${check.id}?limit=100`);
  runs = results.map(({ id }: { id: string }) => `/checks/${check.id}/runs/${id}`).reverse();
});
afterAll(() => stage?.close());

it('draws the route, and shows which hops differ from the previous run', async () => {
  await using window = await stage.visit();
  const { page } = window;
  const way = page.locator('#path');
  const [first = '', same = '', other = '', refused = '', forwarded = ''] = runs;
  await window.go(first);
  expect(await way.innerText()).not.toContain('previous run');
  await window.go(same);
  expect(await way.innerText()).toContain('The same path as in the previous run');
  expect(await way.locator('tbody tr').count()).toBe(8);
  expect(await way.getByRole('img', { name: '0.32 ms to 0.6 ms, 0.4 ms on average' }).count()).toBe(1);
  await window.go(other);
  expect(await way.innerText()).toContain('1 hop is a different router');
  expect(await way.locator('tbody tr').nth(2).innerText()).toContain('before: 198.51.100.33');
  expect(await way.innerText()).toContain(hostile);
  await window.go(refused);
  expect(await way.innerText()).toContain('no a router has no route to it; last response from hop 7');
  await window.go(forwarded);
  expect(await way.innerText()).toContain('yes, in hop 8, which forwards the probes to a host in hop 9');
  const marks = await way.locator('tbody b').allInnerTexts();
  expect(marks).toEqual(['target', 'behind the target']);
  expect(window.complaints).toEqual([]);
});

it('is readable in every way, on any screen', async () => {
  await using window = await stage.visit();
  for (const run of runs.slice(2)) {
    await window.go(run);
    await expectNothingForAxe(window.page, run);
    await expectNarrowEnough(window.page, run);
  }
});
