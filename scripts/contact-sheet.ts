/**
 * Takes screenshots of every page of the registry, at 360 and 1280 pixels, light and dark, and combines those of a kind
 * on one sheet: `node scripts/contact-sheet.ts FOLDER`. They are for review, not to be committed.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConsoleStage, seededFailures } from '../test/helpers/console/console-stage.ts';
import { everyPage, type PageExample } from '../test/helpers/console/every-page.ts';
import { httpDetail } from '../test/helpers/console/http-detail.ts';

const [wanted] = process.argv.slice(2);
if (wanted === undefined) {
  console.error('usage: node scripts/contact-sheet.ts FOLDER');
  process.exit(2);
}
const folder = resolve(wanted);
mkdirSync(folder, { recursive: true });

const stage = await ConsoleStage.open({ artifactsHost: 'files.localhost' });
try {
  await fill(stage);
  let examples: PageExample[] = [];
  {
    await using window = await stage.visit();
    const { found, unreached } = await everyPage(window, 1);
    examples = found;
    for (const address of ['/status/acme', '/status/inside', '/dashboards/wall']) {
      examples.push({ pattern: address, address });
    }
    for (const pattern of unreached) console.log(`no link leads to ${pattern}`);
  }
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [360, 1280]) await sheet({ colorScheme, width }, examples);
  }
} finally {
  await stage.close();
}

async function fill(to: ConsoleStage): Promise<void> {
  const call = (path: string, body: unknown) => to.harness.call('POST', path, body);
  await to.addCheck('Shop: front page', { tags: ['shop'] });
  await to.addCheck('Search, slow but up', { tags: ['shop', 'search'] });
  for (const [name] of seededFailures) await to.addCheck(`Failure: ${name}`);
  await to.addCheck('Nobody is there to run it', { privateLocations: ['empty'] });
  await to.harness.call('POST', '/v1/alert-channels', {
    type: 'EMAIL',
    config: { address: 'ops@example.com' },
  });
  for (let round = 0; round < 20; round += 1) {
    await to.runOnce((name) => {
      const seeded = round > 14 && seededFailures.find(([one]) => name === `Failure: ${one}`);
      if (seeded) return { failure: seeded[1], detail: httpDetail({ status: 503 }), responseTimeMs: 900 };
      if (name.startsWith('Search')) return { detail: httpDetail(), isDegraded: true, responseTimeMs: 4_200 };
      return { detail: httpDetail(), responseTimeMs: 40 + ((round * 37) % 90) };
    });
  }
  const [first] = to.checks.values();
  await call('/v1/check-sessions/trigger', { target: { checkId: first } });
  await call('/v1/test-sessions/trigger', {
    name: 'Before the release',
    runLocation: 'lab',
    target: { checkId: first },
  });
  await publish(to, first);
}

/** Publishes the customers' view, with an incident and a maintenance. */
async function publish({ harness, clock }: ConsoleStage, checkId: string | undefined): Promise<void> {
  const make = async (path: string, body: unknown) => (await harness.call('POST', path, body)).body;
  const pages = '/v1/status-pages';
  const [shop, mail] = [
    (await make(`${pages}/services`, { name: 'Shop' })).id,
    (await make(`${pages}/services`, { name: 'Mail' })).id,
  ];
  await harness.call('PUT', `/v1/checks/${checkId}`, {
    triggerIncident: { serviceId: shop, name: 'Shop', description: 'We look into it.' },
  });
  const cards = [{ name: 'What we run', services: [{ id: shop }, { id: mail }] }];
  await make(pages, { name: 'Acme', url: 'acme', description: 'Everything that Acme runs.', cards });
  await make(pages, { name: 'Acme inside', url: 'inside', cards, isPrivate: true });
  await make(`${pages}/incidents`, {
    name: 'Mails are late',
    severity: 'MINOR',
    services: [{ id: mail }],
    incidentUpdates: [{ status: 'INVESTIGATING', description: 'A queue is long.' }],
  });
  await make('/v1/dashboards', { header: 'Wall', customUrl: 'wall' });
  const at = (hours: number) => new Date(clock.wallMs() + hours * 3_600_000).toISOString();
  await make('/v1/maintenance-windows', {
    name: 'New disks',
    startsAt: at(24),
    endsAt: at(26),
    tags: ['shop'],
    statusPageVisibility: { enabled: true, serviceIds: [shop] },
  });
  await make('/v1/check-groups', { name: 'Group of the shop' });
  await make('/v1/snippets', { name: 'Log in', script: 'await page.goto("/login");' });
  await make('/v1/variables', { key: 'SHOP_URL', value: 'https://shop.example.com' });
  await make('/v1/slos', { name: 'Shop', tags: ['shop'], target: 99.9, windowDays: 30 });
}

async function sheet(
  { colorScheme, width }: { readonly colorScheme: 'light' | 'dark'; readonly width: number },
  examples: readonly PageExample[],
): Promise<void> {
  const place = join(folder, `${colorScheme}-${width}`);
  mkdirSync(place, { recursive: true });
  await using window = await stage.visit({ colorScheme, viewport: { width, height: 800 } });
  const pictures: string[] = [];
  for (const { pattern, address } of examples) {
    await window.go(address);
    const name = `${pattern === '/' ? 'overview' : pattern.replaceAll(/[^a-zA-Z]+/g, '-').replace(/^-/, '')}.png`;
    await window.page.screenshot({ path: join(place, name), fullPage: true, animations: 'disabled' });
    const excess = await window.page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
    if (excess > 0) console.log(`${address} is ${excess} pixels too wide at ${width}`);
    pictures.push(
      `<figure><img src="${place.split('/').at(-1)}/${name}" width="${width === 360 ? 180 : 420}"><figcaption>${pattern}</figcaption></figure>`,
    );
  }
  for (const complaint of window.complaints) console.log(complaint);
  const style =
    'body{font:13px sans-serif;display:flex;flex-wrap:wrap;gap:12px;align-items:flex-start;background:#888}figure{margin:0}';
  const file = join(folder, `${colorScheme}-${width}.html`);
  writeFileSync(
    file,
    `<!doctype html><meta charset="utf-8"><title>${colorScheme} ${width}</title><style>${style}</style>${pictures.join('')}`,
  );
  const whole = await stage.browser.newPage({
    viewport: { width: width === 360 ? 1560 : 1760, height: 900 },
  });
  await whole.goto(pathToFileURL(file).href);
  await whole.screenshot({ path: file.replace('.html', '.png'), fullPage: true });
  await whole.close();
  console.log(`${colorScheme} ${width}: ${pictures.length} pages`);
}
