import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectNarrowEnough, expectNothingForAxe } from '../../helpers/console/accessibility.ts';
import { ConsoleStage } from '../../helpers/console/console-stage.ts';
import { TestAgent } from '../../helpers/service/service.ts';

let stage: ConsoleStage;
beforeAll(async () => {
  stage = await ConsoleStage.open();
});
afterAll(() => stage.close());

describe('the first steps in a browser', () => {
  it('go on by themselves once the agent is connected, without a reload', { timeout: 240_000 }, async () => {
    await using window = await stage.visit();
    const { page } = window;
    await page.getByRole('link', { name: 'Get started' }).first().click();
    await page.getByRole('button', { name: 'Show the command with a new key' }).click();
    await page.getByText('Waiting for the agent').waitFor();
    for (const name of ['Compose', 'Kubernetes', 'Debian', 'systemd', 'npm', 'Docker']) {
      await page.locator('.command-tabs > label', { hasText: name }).click();
      const [shown, ...others] = await page.locator('.command-tab:visible').all();
      expect(others).toEqual([]);
      expect(await shown?.getAttribute('class')).toContain(name.toLowerCase());
    }
    await expectNothingForAxe(page, '/start');
    await expectNarrowEnough(page, '/start');
    const command = await page.locator('.command-tab-npm pre').textContent();
    const [, key = ''] = /API_KEY=(pl_\w+)/.exec(command ?? '') ?? [];
    const [, slugName] = /AGENT_ID=([\w-]+)-1/.exec(command ?? '') ?? [];
    const { body: locations } = await stage.harness.call('GET', '/v1/private-locations');
    const { id } = locations.find((one: { slugName: string }) => one.slugName === slugName);
    await new TestAgent(stage.harness, { ...stage.location, id, key }).claim();
    await page.locator('#check[aria-current="step"]').waitFor();
    expect(await page.locator('#location').innerText()).toContain('1 agent connected');
    expect(window.complaints).toEqual([]);
  });

  it('work without scripts', async () => {
    await using window = await stage.visit({ javaScriptEnabled: false });
    const { page } = window;
    await window.go('/start?step=check');
    await page.getByLabel('URL to check').fill('shop.example.com');
    await page.getByRole('button', { name: 'Create the check and run it' }).click();
    expect(await page.locator('#check').innerText()).toContain('shop.example.com');
    await page.getByRole('button', { name: 'Skip this step' }).click();
    await page.getByRole('button', { name: 'Publish the page' }).click();
    await page.getByRole('link', { name: 'Open Status' }).click();
    expect(await page.content()).toContain('shop.example.com');
  });
});
