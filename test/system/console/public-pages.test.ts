import naughtyStrings from 'big-list-of-naughty-strings' with { type: 'json' };
import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectNarrowEnough, expectNothingForAxe } from '../../helpers/console/accessibility.ts';
import { ConsoleStage } from '../../helpers/console/console-stage.ts';

let stage: ConsoleStage;
let dashboardKey: string;
const hostile = `"><script>alert(1)</script><img src=x onerror=alert(2)>`;
const naughty = naughtyStrings
  .filter((text) => text.includes('<'))
  .join('\n')
  .slice(0, 9_000);

async function call(method: string, path: string, body: unknown) {
  const answer = await stage.harness.call(method, path, body);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

beforeAll(async () => {
  stage = await ConsoleStage.open();
  const service = await call('POST', '/v1/status-pages/services', { name: `Shop ${hostile}` });
  const byHand = await call('POST', '/v1/status-pages/services', { name: 'Desk' });
  await stage.addCheck(hostile, {
    tags: ['public'],
    triggerIncident: { serviceId: service.id, name: 'Down', description: 'x', notifySubscribers: false },
  });
  await stage.runOnce(() => ({ responseTimeMs: 120 }));
  const services = [{ id: service.id }, { id: byHand.id }];
  await call('POST', '/v1/status-pages', {
    name: hostile,
    url: 'open',
    description: naughty.slice(0, 500),
    cards: [{ name: hostile, services }],
  });
  const at = (hours: number) => new Date(stage.clock.wallMs() + hours * 3_600_000).toISOString();
  for (const [status, date] of [
    ['INVESTIGATING', at(-3)],
    ['RESOLVED', at(-30)],
  ] as const) {
    const incidentUpdates = [{ description: naughty, status, publicIncidentUpdateDate: date }];
    await call('POST', '/v1/status-pages/incidents', {
      name: hostile,
      severity: 'MAJOR',
      services,
      incidentUpdates,
    });
  }
  await call('POST', '/v1/maintenance-windows', {
    name: hostile,
    description: naughty.slice(0, 2_000),
    startsAt: at(24),
    endsAt: at(25),
    statusPageVisibility: { enabled: true, serviceIds: [service.id] },
  });
  const { id: statusPageId } = await call('POST', '/v1/status-pages', {
    ...{ name: hostile, url: 'parts', version: 3, footerText: naughty.slice(0, 900) },
    ...{ supportLink: 'https://acme.test/help', privacyPolicyLink: 'https://acme.test/privacy' },
  });
  const component = async (fields: object): Promise<string> =>
    (await call('POST', '/v1/status-pages/components', { statusPageId, name: hostile, ...fields })).id;
  const group = await component({ type: 'GROUP', description: naughty.slice(0, 400) });
  const within = await component({ parentId: group });
  await component({ parentId: await component({ parentId: group, type: 'GROUP' }) });
  await component({ name: 'Mail', displayOrder: 1 });
  await call('POST', '/v1/status-pages/incidents', {
    ...{ name: hostile, severity: 'MAJOR', components: [{ componentId: within, impact: 'PARTIAL_OUTAGE' }] },
    incidentUpdates: [{ status: 'INVESTIGATING', description: hostile }],
  });
  const board = { header: hostile, description: naughty, tags: ['public'], expandChecks: true };
  await call('POST', '/v1/dashboards', {
    ...board,
    customUrl: 'wall',
    customCSS: 'h3 { letter-spacing: 0 }',
  });
  const shut = await call('POST', '/v1/dashboards', { ...board, customUrl: 'shut', isPrivate: true });
  dashboardKey = shut.keys[0].rawKey;
});
afterAll(() => stage?.close());

it('public pages have no axe violations, fit 320 pixels, run no foreign scripts and send no requests elsewhere', async () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    await using window = await stage.visit({ colorScheme });
    const { page } = window;
    for (const path of [
      '/status/open',
      '/status/parts',
      '/dashboards/wall',
      '/dashboards/shut',
      '/status/nowhere',
    ]) {
      await window.go(path);
      expect(await page.locator('main').count()).toBe(1);
      expect(await page.locator('main script, main img, main iframe, main [onerror]').count()).toBe(0);
      await expectNothingForAxe(page, `${path} ${colorScheme}`, { isOnlyColours: colorScheme === 'dark' });
      if (colorScheme === 'light') await expectNarrowEnough(page, path);
    }
    expect(window.complaints).toEqual([]);
  }
});

it('a private dashboard opens with its key and without scripts, by the keyboard alone', async () => {
  const context = await stage.browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${stage.url}/dashboards/shut`);
  await page.locator('[name=key]').focus();
  await page.keyboard.type(dashboardKey);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Checks' }).waitFor();
  await context.close();
});
