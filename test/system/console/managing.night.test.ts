import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pages } from '../../../src/console/registry.ts';
import { expectNarrowEnough, expectNothingForAxe } from '../../helpers/console/accessibility.ts';
import { ConsoleStage } from '../../helpers/console/console-stage.ts';
import { sampleOf } from '../../helpers/night.ts';
import { reportOf, type ServiceHarness } from '../../helpers/service/service.ts';

let stage: ConsoleStage;
let paths: string[];
/** They redirect to the first of their tabs. */
const leadOn = ['/pages', '/settings'];

beforeAll(async () => {
  stage = await ConsoleStage.open();
  const { harness } = stage;
  const { body: locations } = await harness.call('GET', '/v1/private-locations');
  const channel = { type: 'EMAIL', config: { address: 'ops@example.com' } };
  const { body: made } = await harness.call('POST', '/v1/alert-channels', channel);
  await stage.addCheck('shop', { tags: ['shop'] });
  // Paths without parameters are from the registry: a new page is included automatically.
  const plain = pages.filter(
    ({ path, method = 'GET' }) => method === 'GET' && !/[:*]/.test(path) && !leadOn.includes(path),
  );
  paths = [
    ...plain.map(({ path }) => path),
    ...locations.flatMap(({ id }: { id: string }) => [`/locations/${id}`, `/locations/${id}/edit`]),
    '/alerts/channels/new?type=WEBHOOK',
    `/alerts/channels/${made.id}`,
    ...(await publishedPaths(harness)),
    ...(await componentPaths(harness)),
  ];
});
afterAll(() => stage.close());

/** Creates public pages with content. Returns their paths. */
async function publishedPaths({ call }: ServiceHarness): Promise<string[]> {
  const { body: service } = await call('POST', '/v1/status-pages/services', { name: 'Shop' });
  const services = [{ id: service.id }];
  const cards = [{ name: 'Core', services }];
  const { body: page } = await call('POST', '/v1/status-pages', { name: 'Acme', url: 'acme', cards });
  const subscription = { type: 'EMAIL', config: { address: 'ann@example.com' } };
  await call('POST', `/v1/status-pages/${page.id}/subscriptions/bulk`, { subscriptions: [subscription] });
  const { body: incident } = await call('POST', '/v1/status-pages/incidents', {
    name: 'Orders fail',
    severity: 'MAJOR',
    services,
    incidentUpdates: [{ description: 'Looked into.', status: 'INVESTIGATING' }],
  });
  const { body: window } = await call('POST', '/v1/maintenance-windows', {
    name: 'New disks',
    startsAt: '2026-12-01T08:00:00Z',
    endsAt: '2026-12-01T09:00:00Z',
    repeatInterval: 1,
    repeatUnit: 'WEEK',
    tags: ['shop'],
    statusPageVisibility: { enabled: true },
  });
  await call('POST', '/v1/variables', { key: 'TOKEN', value: 'x', secret: true });
  return [
    `/pages/status/${page.id}`,
    `/pages/status/${page.id}/subscribers`,
    `/pages/incidents/${incident.id}`,
    `/pages/maintenance/${window.id}`,
    `/pages/maintenance/${window.id}/edit`,
    '/settings/variables/TOKEN/details',
  ];
}

/** Creates a page of components. Returns the paths of the forms for its parts. */
async function componentPaths({ call }: ServiceHarness): Promise<string[]> {
  const make = async (path: string, body: object): Promise<string> =>
    (await call('POST', `/v1/status-pages${path}`, body)).body.id;
  const statusPageId = await make('', { name: 'Parts', url: 'parts', version: 3 });
  const group = await make('/components', { statusPageId, name: 'Shop', type: 'GROUP' });
  const cart = await make('/components', { statusPageId, name: 'Cart', parentId: group });
  await make('/components', { statusPageId, name: 'Search', parentId: group, hidden: true });
  const rule = await make('/automation-rules', {
    ...{ statusPageId, name: 'Trouble', tags: ['shop'], firstUpdate: 'a', lastUpdate: 'b' },
    components: [{ componentId: cart, targetImpact: 'MAJOR_OUTAGE' }],
  });
  const here = `/pages/status/${statusPageId}`;
  return [
    ...['/pages/status/new?version=3', here, `${here}/components/new`, `${here}/components/${cart}`],
    ...[`${here}/components/${group}`, `${here}/rules/new`, `${here}/rules/${rule}`],
  ];
}

describe('every page of the registry', () => {
  const areas = ['/settings', '/pages', ''];
  const looks = areas.flatMap((area) =>
    (['light', 'dark'] as const).map((scheme) => [area, scheme] as const),
  );

  it.each(looks)(
    'has no axe violations, and fits 320 pixels: %s/…, %s',
    { timeout: 240_000 },
    async (...look) => {
      const [area, colorScheme] = look;
      await using window = await stage.visit({ colorScheme });
      const ofArea = paths.filter((one) => areas.find((start) => one.startsWith(start)) === area);
      // In dark mode a sample is enough: all pages have the same colours.
      const looked = colorScheme === 'dark' ? sampleOf(ofArea, 8) : ofArea;
      for (const path of looked) {
        await window.go(path);
        await expectNothingForAxe(window.page, path, { isOnlyColours: colorScheme === 'dark' });
        if (colorScheme === 'light') await expectNarrowEnough(window.page, path);
      }
      // Axe tries to run in the frames of previews, which may not run scripts.
      const axeInFrames = /^console: Blocked script execution in .* frame is sandboxed/;
      expect(window.complaints.filter((complaint) => !axeInFrames.test(complaint))).toEqual([]);
    },
  );
});

describe('without JavaScript', () => {
  it('a location is created, a channel is created and subscribed, and checks are run', async () => {
    await using window = await stage.visit({ javaScriptEnabled: false });
    const { page } = window;
    await window.go('/locations/new');
    await page.fill('[name=name]', 'Office');
    await page.fill('[name=slugName]', 'office');
    await page.getByRole('button', { name: 'Create location and first key' }).click();
    expect(await page.locator('.key-once .copyable code').innerText()).toMatch(/^pl_\w+$/);
    await page.getByText('Delete…').click();
    await page.getByRole('button', { name: 'Delete the location' }).click();
    expect(new URL(page.url()).pathname).toBe('/locations');

    await window.go('/alerts/channels/new');
    await page.getByRole('link', { name: 'Webhook' }).click();
    await page.fill('[name="config.name"]', 'Ops');
    await page.fill('[name="config.url"]', 'https://hooks.example.com/ops');
    await page.getByRole('button', { name: 'Create the channel' }).click();
    await page.getByRole('button', { name: 'Subscribe all checks' }).click();
    expect(await page.getByRole('button', { name: 'Switch off: shop' }).count()).toBe(1);

    await stage.agent.claim();
    await window.go('/sessions');
    await page.getByRole('button', { name: 'Run checks' }).click();
    expect(await page.locator('h1').innerText()).toBe('shop');
  });
});

it('a session is followed to its end without a reload', async () => {
  await using window = await stage.visit();
  const { page } = window;
  await stage.agent.claim();
  await window.go('/sessions');
  await page.getByRole('button', { name: 'Run checks' }).click();
  await page.getByText('This page updates automatically').waitFor();
  await page.evaluate(() => Object.assign(globalThis, { isSamePage: true }));
  const runs = await stage.agent.claim();
  await stage.agent.report(runs.map((run) => reportOf(run)));
  await page.locator('.lead .state-passed').waitFor();
  expect(await page.evaluate(() => 'isSamePage' in globalThis)).toBe(true);
  expect(window.complaints).toEqual([]);
});
