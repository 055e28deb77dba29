import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkTypes } from '../../../src/checks/index.ts';
import { expectNarrowEnough, expectNothingForAxe } from '../../helpers/console/accessibility.ts';
import { ConsoleStage } from '../../helpers/console/console-stage.ts';
import { httpDetail } from '../../helpers/console/http-detail.ts';
import { sampleOf } from '../../helpers/night.ts';
import { reportOf } from '../../helpers/service/service.ts';

let stage: ConsoleStage;
const names = checkTypes.map(({ name }) => name);
/** The page of a check that was saved, which may show its first run. */
const savedPage = /\/checks\/([0-9a-f-]{36})(?:\?session=[0-9a-f-]{36})?$/;
const definitionOf = async (id: string) => (await stage.harness.call('GET', `/v1/checks/${id}`)).body;

beforeAll(async () => {
  stage = await ConsoleStage.open();
  await stage.harness.call('POST', '/v1/alert-channels', { type: 'EMAIL', config: { address: 'a@b.test' } });
  await stage.addCheck('shop', {
    request: {
      url: 'https://shop.test/',
      assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' }],
    },
    environmentVariables: [{ key: 'A', value: 'x\ny', locked: false }],
  });
});
afterAll(() => stage?.close());

describe.each(['light', 'dark'] as const)('forms in %s', (colorScheme) => {
  it('have no axe violations, and fit 320 pixels', { timeout: 240_000 }, async () => {
    await using window = await stage.visit({ colorScheme });
    const paths = [
      ...names.map((name) => `/checks/new?type=${name}`),
      `/checks/${stage.checks.get('shop')}/edit`,
      '/groups/new',
    ];
    // In dark mode fewer are enough: all forms have the same colours.
    for (const path of sampleOf(paths, colorScheme === 'dark' ? 2 : 5)) {
      await window.go(path);
      await window.page.evaluate(
        `for (const one of document.querySelectorAll('main details')) one.open = true`,
      );
      await expectNothingForAxe(window.page, path, { isOnlyColours: colorScheme === 'dark' });
      if (colorScheme === 'light') await expectNarrowEnough(window.page, path);
    }
    expect(window.complaints).toEqual([]);
  });
});

describe('a check', () => {
  it('is run before it is saved, with added rows, without a page load', async () => {
    await using window = await stage.visit();
    const { page } = window;
    await page.getByRole('link', { name: 'New check' }).click();
    await page.getByText('Paste a curl command').click();
    await page.getByLabel('Command, as copied').fill(`curl -L 'https://shop.test/cart' -H 'X-A: <b>"1"</b>'`);
    await page.getByRole('button', { name: 'Fill in the form' }).click();
    expect(await page.getByLabel('URL', { exact: true }).inputValue()).toBe('https://shop.test/cart');
    await page.evaluate(() => Object.assign(globalThis, { isSamePage: true }));
    await page.locator('#topic-assertions > summary').click();
    await page.getByRole('button', { name: 'Add to Assertions' }).click();
    await page.getByRole('group', { name: 'Assertions 1' }).getByLabel('Expected').fill('200');
    await page.getByRole('checkbox', { name: /^lab/ }).check();
    await page.getByLabel('Location', { exact: true }).selectOption('lab');
    await stage.agent.claim();
    await page.getByRole('button', { name: 'Test run' }).click();
    await page.locator('#try .state-waiting').waitFor();
    const runs = await stage.agent.claim();
    expect(runs[0]?.check.spec).toMatchObject({ request: { followRedirects: true } });
    await stage.agent.report(
      runs.map((run) => reportOf(run, { detail: httpDetail({ text: '<i>found</i>' }) })),
    );
    await page.locator('#try .state-passed').first().waitFor();
    expect(await page.locator('#try').innerText()).toContain('<i>found</i>');
    expect(await page.evaluate(() => 'isSamePage' in globalThis)).toBe(true);
    await expectNothingForAxe(page, 'a check that was tried');
    await page.getByRole('button', { name: 'Create the check' }).click();
    await page.waitForURL(savedPage);
    expect(await page.locator('.toast').innerText()).toBe('Saved. Running now at lab.');
    const check = await definitionOf(savedPage.exec(page.url())?.[1] ?? '');
    expect(check.request).toMatchObject({
      headers: [{ key: 'X-A', value: '<b>"1"</b>', locked: false }],
      assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' }],
    });
    expect(window.complaints).toEqual([]);
  });

  it('is not written if it is saved unchanged, in a real browser', async () => {
    await using window = await stage.visit();
    const { page } = window;
    const id = stage.checks.get('shop') ?? '';
    await window.go(`/checks/${id}/edit`);
    await page.getByRole('button', { name: 'Save' }).last().click();
    await page.waitForURL(new RegExp(`/checks/${id}$`));
    expect((await definitionOf(id)).updated_at).toBeNull();
  });

  it('is saved by the Enter key, which never presses another button', async () => {
    await using window = await stage.visit();
    const { page } = window;
    const id = await stage.addCheck('by keyboard');
    stage.clock.advance(1_000);
    await window.go(`/checks/${id}`);
    await page.getByLabel('Actions: by keyboard').click();
    await page.getByRole('link', { name: 'Edit' }).focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('Name', { exact: true }).first().fill('typed');
    await page.keyboard.press('Enter');
    await page.waitForURL(savedPage);
    expect(await definitionOf(id)).toMatchObject({ name: 'typed', request: { url: 'http://target.test/' } });
  });

  it('is created and changed without JavaScript', async () => {
    await using window = await stage.visit({ javaScriptEnabled: false });
    const { page } = window;
    await window.go('/checks/new');
    await page.getByRole('link', { name: 'TCP' }).click();
    await page.getByLabel('Name', { exact: true }).first().fill('port');
    await page.getByLabel('Host', { exact: true }).fill('db.test');
    await page.getByLabel('Port', { exact: true }).fill('70000');
    await page.getByRole('checkbox', { name: /^lab/ }).check();
    // A schedule hides the interval, which then has no effect.
    await page.locator('#topic-schedule > summary').click();
    const interval = page.getByLabel('Interval', { exact: true });
    for (const [runs, isShown] of [
      ['object', false],
      ['', true],
    ] as const) {
      await page.getByLabel('Runs', { exact: true }).selectOption(runs);
      expect(await interval.isVisible()).toBe(isShown);
    }
    await page.locator('#topic-assertions > summary').click();
    await page.getByRole('button', { name: 'Add to Assertions' }).click();
    await page.getByRole('button', { name: 'Remove Assertions 1' }).click();
    await page.getByRole('button', { name: 'Create the check' }).last().click();
    expect(await page.locator('#field-request-port-error').innerText()).toMatch(/at most 65535/);
    await page.getByLabel('Port', { exact: true }).fill('5432');
    await stage.agent.claim({ checkTypes: ['TCP'] });
    await page.getByLabel('Location', { exact: true }).selectOption('lab');
    await page.getByRole('button', { name: 'Test run' }).click();
    await page.getByRole('button', { name: 'Reload' }).click();
    await page.getByText('In progress').waitFor();
    await page.getByRole('button', { name: 'Create the check' }).last().click();
    expect(await page.locator('h1').innerText()).toBe('port');
  });

  it('shows who changed it last, and what, on its page and in its form', async () => {
    const id = await stage.addCheck('to be renamed');
    stage.clock.advance(1_000);
    await stage.harness.call('PUT', `/v1/checks/${id}`, { name: 'renamed <b>' });
    await using window = await stage.visit();
    const { page } = window;
    for (const path of [`/checks/${id}`, `/checks/${id}/edit`]) {
      await window.go(path);
      await page.getByText('Recent changes').click();
      const said = await page.locator('.last-changes li').first().innerText();
      expect(said).toMatch(/update check, by test[\s\S]*to be renamed[\s\S]*renamed <b>/i);
    }
    expect(await page.locator('.lead').first().innerText()).toMatch(/last changed .* by test/i);
    expect(window.complaints).toEqual([]);
  });
});

describe('the first level of a form', () => {
  it('is on one screen of 1280 by 800 pixels, with the button that saves', async () => {
    await stage.agent.claim();
    await using window = await stage.visit();
    const { page } = window;
    const withScripts = ['BROWSER', 'MULTI_STEP'];
    for (const name of names.filter((one) => !withScripts.includes(one))) {
      await window.go(`/checks/new?type=${name}`);
      const bottomOf = async (selector: string) => {
        const box = await page.locator(selector).last().boundingBox();
        return (box?.y ?? Number.NaN) + (box?.height ?? Number.NaN);
      };
      expect(await bottomOf('.first'), name).toBeLessThan(740);
      expect(await bottomOf('.save .primary'), name).toBeLessThan(800);
    }
    expect(window.complaints).toEqual([]);
  });

  it('completes the URL and shows the name while it is typed', async () => {
    await using window = await stage.visit();
    const { page } = window;
    await window.go('/checks/new?type=URL');
    const name = page.getByLabel('Name', { exact: true }).first();
    await page.getByLabel('URL', { exact: true }).fill('shop.test/cart');
    await name.focus();
    expect(await page.getByLabel('URL', { exact: true }).inputValue()).toBe('https://shop.test/cart');
    expect(await name.getAttribute('placeholder')).toBe('shop.test/cart');
    await page.getByRole('button', { name: 'Create the check' }).last().click();
    await page.waitForURL(savedPage);
    expect(await page.locator('h1').innerText()).toBe('shop.test/cart');
    expect(window.complaints).toEqual([]);
  });
});

describe('pickers', () => {
  it('make chips of tags, and find dependencies by name without saving', async () => {
    const parent = await stage.addCheck('router <b>');
    const id = await stage.addCheck('behind');
    stage.clock.advance(1_000);
    await using window = await stage.visit();
    const { page } = window;
    await window.go(`/checks/${id}/edit`);
    await page.locator('#topic-grouping > summary').click();
    const tags = page.getByLabel('Add to Tags');
    await tags.fill('shop');
    await tags.press('Enter');
    await tags.fill('prod,');
    await tags.press('Tab');
    await page.getByLabel('Find by name for Depends on').fill('ROUTER');
    await page.getByLabel('Find by name for Depends on').press('Enter');
    await page.getByRole('checkbox', { name: 'router <b>' }).check();
    await page.getByRole('button', { name: 'Find', exact: true }).click();
    await page.locator('.chip', { hasText: 'router <b>' }).waitFor();
    expect(await page.locator('#topic-grouping .topic-set').innerText()).toBe(
      'Tags: shop, prod · Depends on: router <b>',
    );
    await expectNothingForAxe(page, 'a form with pickers');
    await page.getByRole('checkbox', { name: 'shop', exact: true }).uncheck();
    await page.getByRole('button', { name: 'Save' }).last().click();
    await page.waitForURL(savedPage);
    expect(await definitionOf(id)).toMatchObject({ tags: ['prod'], parentCheckIds: [parent] });
    expect(window.complaints).toEqual([]);
  });

  it('upload a suite and select it', async () => {
    await using window = await stage.visit();
    const { page } = window;
    await window.go('/checks/new?type=PLAYWRIGHT');
    await page
      .getByLabel('Upload a suite')
      .setInputFiles({ name: 'no.zip', mimeType: 'application/zip', buffer: Buffer.from('PK') });
    await page.getByText(/no\.zip was not uploaded\. .*not gzip/).waitFor();
    await page
      .getByLabel('Upload a suite')
      .setInputFiles({ name: 'suite.tgz', mimeType: 'application/gzip', buffer: gzipSync('suite') });
    await page.getByText('suite.tgz is uploaded and selected.').waitFor();
    expect(await page.getByLabel('Code bundle').inputValue()).toMatch(/^[0-9a-f]{64}-\d+$/);
    expect(window.complaints).toEqual([]);
  });
});

describe('a value of a tried response', () => {
  it.each([true, false])('becomes an assertion by a click (scripts: %s)', async (javaScriptEnabled) => {
    await using window = await stage.visit({ javaScriptEnabled });
    const { page } = window;
    await window.go('/checks/new?type=API');
    await page.getByLabel('URL', { exact: true }).fill('https://shop.test/items');
    await page.getByLabel('Location', { exact: true }).selectOption('lab');
    await stage.agent.claim();
    await page.getByRole('button', { name: 'Test run' }).click();
    await page.locator('#try .state-waiting').waitFor();
    const runs = await stage.agent.claim();
    const detail = httpDetail({ text: '{"items":[{"id":5}]}' });
    await stage.agent.report(runs.map((run) => reportOf(run, { detail })));
    if (!javaScriptEnabled) await page.getByRole('button', { name: 'Reload' }).click();
    await page.getByRole('button', { name: '$.items[0].id 5' }).click();
    const row = page.getByRole('group', { name: 'Assertions 1' });
    await row.waitFor();
    expect(await row.getByLabel('Property').inputValue()).toBe('$.items[0].id');
    expect(await row.getByLabel('Expected').inputValue()).toBe('5');
    expect(window.complaints).toEqual([]);
  });
});

describe('a template', () => {
  it('is used as soon as it is selected', async () => {
    await using window = await stage.visit();
    const { page } = window;
    await window.go('/checks/new?type=BROWSER');
    await page.getByLabel('Start from a template').selectOption('Log in');
    await expect.poll(() => page.locator('#field-script').inputValue()).toContain('LOGIN_EMAIL');
    expect(await page.getByLabel('Name', { exact: true }).first().getAttribute('placeholder')).toBe('Log in');
    expect(window.complaints).toEqual([]);
  });
});

describe('a script', () => {
  it('has numbered lines, and Tab indents it until Escape is pressed', async () => {
    await using window = await stage.visit();
    const { page } = window;
    await window.go('/settings/snippets/new');
    await page.getByLabel('Name').fill('signs in');
    await page.keyboard.press('Tab');
    await page.keyboard.type('if (a) {');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.type('b(process.env.TOKEN);');
    const script = page.getByLabel('Script');
    expect(await script.inputValue()).toBe('if (a) {\n  b(process.env.TOKEN);');
    expect(await page.locator('.line-numbers').textContent()).toBe('1\n2');
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.press('Tab');
    expect(await script.inputValue()).toBe('  if (a) {\n    b(process.env.TOKEN);');
    await page.keyboard.press('Shift+Tab');
    expect(await script.inputValue()).toBe('if (a) {\n  b(process.env.TOKEN);');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement?.tagName')).not.toBe('TEXTAREA');
    await page.getByRole('button', { name: 'Create the snippet' }).click();
    await page.waitForURL(/\/details$/);
    expect(window.complaints).toEqual([]);
  });

  it('and a variable show where they are used', async () => {
    await using window = await stage.visit();
    const { page } = window;
    const { harness } = stage;
    const { body: snippet } = await harness.call('POST', '/v1/snippets', {
      name: 'cleans up',
      script: 'console.log(process.env.BASE_URL)',
    });
    await harness.call('POST', '/v1/variables', { key: 'BASE_URL', value: 'https://shop.test' });
    const { body: check } = await harness.call('POST', '/v1/checks/api', {
      name: 'cart',
      privateLocations: ['lab'],
      tearDownSnippetId: snippet.id,
      request: { method: 'GET', url: '{{BASE_URL}}/cart' },
    });
    await window.go(`/settings/snippets/${snippet.id}/details`);
    expect(await page.locator('#uses').innerText()).toMatch(/Check cart$/);
    await page.locator('#uses a').click();
    expect(page.url()).toContain(check.id);
    await window.go('/settings/variables/BASE_URL/details');
    expect(await page.locator('#uses').innerText()).toMatch(/Check cart\s+Snippet cleans up$/);
    expect(window.complaints).toEqual([]);
  });
});
