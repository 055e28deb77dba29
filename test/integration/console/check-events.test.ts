import { afterAll, beforeAll, expect, it } from 'vitest';
import { failure } from '../../../src/checks/contract/failure.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import {
  createLocation,
  openHarness,
  reportOf,
  type ServiceHarness,
  TestAgent,
  until,
} from '../../helpers/service/service.ts';
import { loggedIn, type Visitor } from '../../helpers/service/visitor.ts';

const clock = new ManualClock(Date.UTC(2026, 10, 28, 12));
const long = `Error: expect(locator).toBeVisible() failed: Locator: getByRole('button')`;
let harness: ServiceHarness;
let reader: Visitor;
let checkId: string;

async function deploy(maxResponseTime: number): Promise<void> {
  const request = { url: 'https://shop.example.com/' };
  const { body: started } = await harness.call('POST', '/v1/projects/deploy?scheduleOnDeploy=false', {
    project: { logicalId: 'shop/web', name: 'Shop' },
    resources: [
      {
        type: 'check',
        logicalId: 'front',
        payload: {
          ...{ checkType: 'URL', name: 'front', frequency: 1, privateLocations: ['lab'], maxResponseTime },
          ...{ request, retryStrategy: null, doubleCheck: false },
        },
      },
    ],
  });
  const path = `/v1/projects/${encodeURIComponent('shop/web')}/deployments/${started.id}`;
  await until('the deployment', async () => (await harness.call('GET', path)).body.endedAt !== null);
}

beforeAll(async () => {
  harness = await openHarness({ clock });
  reader = await loggedIn(harness, 'READ_ONLY');
  const agent = new TestAgent(harness, await createLocation(harness, 'lab'));
  harness.startDeployments();
  await deploy(5_000);
  checkId = (await harness.call('GET', '/v1/checks')).body[0].id;
  clock.advance(60_000);
  // The second changes nothing: only the list of deployments has it.
  await deploy(5_000);
  harness.startScheduler();
  clock.advance(60_000);
  const down = failure('CONNECTION_REFUSED', 'connect ECONNREFUSED');
  await until('a failed run', async () => {
    clock.advance(20);
    const runs = await agent.claim({ checkTypes: ['URL'] });
    if (runs.length === 0) return false;
    await agent.report(runs.map((run) => reportOf(run, { failure: down, errorMessages: [long] })));
    return true;
  });
});
afterAll(() => harness.close());

it('marks every deployment of its project on the chart, and leads to all of them', async () => {
  const { body } = await reader.get(`/checks/${checkId}?range=1h`);
  const marks = [...body.matchAll(/class="item mark-deployment"[^>]*href="([^"]+)"[^>]*><title>([^<]+)</g)];
  expect(marks.map(([, , title]) => title?.replace(/\s+/g, ' '))).toEqual([
    '2026-11-28 12:01 UTC Deployment of Shop: succeeded',
    '2026-11-28 12:00 UTC Deployment of Shop: succeeded',
  ]);
  const page = (await reader.get(marks[0]?.[1]?.replaceAll('&amp;', '&') ?? '')).body;
  expect(page).toContain('<h2>Deployments of Shop</h2>');
  expect(page.match(/<span>succeeded<\/span>|>succeeded</g)?.length).toBeGreaterThanOrEqual(3);
  const earlier = await reader.get(`/checks/${checkId}?from=2026-11-28T10:00&to=2026-11-28T11:00`);
  expect(earlier.body).not.toContain('mark-deployment');
});

it('has a line for each error, which opens to all of its text', async () => {
  const { body } = await reader.get(`/checks/${checkId}?range=1h`);
  const [errors = ''] = /<section id="errors">[\s\S]*?<\/section>/.exec(body) ?? [];
  expect(errors).toMatch(
    /<td class="wide" data-label="Error"><details class="one-line"><summary>Error: expect\(locator\)[^<]*<\/summary>/,
  );
  expect(errors).toMatch(/First seen <time/);
});
