import { AxeBuilder } from '@axe-core/playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pages } from '../../../src/service/console/registry.ts';
import { ConsoleStage } from '../../helpers/console/console-stage.ts';
import { reportOf } from '../../helpers/service/service.ts';

let stage: ConsoleStage;
let paths: string[];

beforeAll(async () => {
  stage = await ConsoleStage.open();
  const { harness } = stage;
  const { body: locations } = await harness.call('GET', '/v1/private-locations');
  const channel = { type: 'EMAIL', config: { address: 'ops@example.com' } };
  const { body: made } = await harness.call('POST', '/v1/alert-channels', channel);
  await stage.addCheck('shop', { tags: ['shop'] });
  // Those without parameters come from the registry: a new page is looked at without a line here.
  const plain = pages.filter(({ path, method = 'GET' }) => method === 'GET' && !/[:*]/.test(path));
  paths = [
    ...plain.map(({ path }) => path),
    ...locations.flatMap(({ id }: { id: string }) => [`/locations/${id}`, `/locations/${id}/edit`]),
    '/alerts/channels/new?type=WEBHOOK',
    `/alerts/channels/${made.id}`,
  ];
});
afterAll(() => stage.close());

describe('every page of the registry', () => {
  it.each(['light', 'dark'] as const)('has nothing for axe, and fits 320 pixels: %s', async (colorScheme) => {
    await using window = await stage.visit({ colorScheme });
    for (const path of paths) {
      await window.page.setViewportSize({ width: 1280, height: 800 });
      await window.go(path);
      const { violations } = await new AxeBuilder({ page: window.page }).analyze();
      expect(
        violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`),
        path,
      ).toEqual([]);
      await window.page.setViewportSize({ width: 320, height: 800 });
      const excess = await window.page.evaluate('document.documentElement.scrollWidth - innerWidth');
      expect(excess, `${path} at 320 px`).toBeLessThanOrEqual(0);
    }
    expect(window.complaints).toEqual([]);
  });
});

describe('without JavaScript', () => {
  it('a location is made, a channel is made and subscribed, and checks are run', async () => {
    await using window = await stage.visit({ javaScriptEnabled: false });
    const { page } = window;
    await window.go('/locations/new');
    await page.fill('[name=name]', 'Office');
    await page.fill('[name=slugName]', 'office');
    await page.getByRole('button', { name: 'Create it' }).click();
    expect(await page.locator('.key-once pre').first().innerText()).toMatch(/^pl_\w+$/);
    await page.getByText('Delete…').click();
    await page.getByRole('button', { name: 'Delete the location' }).click();
    expect(new URL(page.url()).pathname).toBe('/locations');

    await window.go('/alerts/channels/new');
    await page.getByRole('link', { name: 'Webhook' }).click();
    await page.fill('[name="config.name"]', 'Ops');
    await page.fill('[name="config.url"]', 'https://hooks.example.com/ops');
    await page.getByRole('button', { name: 'Create the channel' }).click();
    await page.getByRole('button', { name: 'Subscribe every check' }).click();
    expect(await page.getByRole('button', { name: 'Switch off: shop' }).count()).toBe(1);

    await window.go('/sessions');
    await page.getByRole('button', { name: 'Run them' }).click();
    expect(await page.locator('h1').innerText()).toBe('shop');
  });
});

it('a session is followed to its end without a reload', async () => {
  await using window = await stage.visit();
  const { page } = window;
  await window.go('/sessions');
  await page.getByRole('button', { name: 'Run them' }).click();
  await page.getByText('It changes by itself').waitFor();
  await page.evaluate(() => Object.assign(globalThis, { isSamePage: true }));
  const runs = await stage.agent.claim();
  await stage.agent.report(runs.map((run) => reportOf(run)));
  await page.locator('.lead .state-passed').waitFor();
  expect(await page.evaluate(() => 'isSamePage' in globalThis)).toBe(true);
  expect(window.complaints).toEqual([]);
});
