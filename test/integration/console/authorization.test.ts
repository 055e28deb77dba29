import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Page } from '../../../src/console/page.ts';
import { pages } from '../../../src/console/registry.ts';
import { type KeyRole, keyRoles } from '../../../src/platform/ids/keys.ts';
import { addMember, memberLoggedIn, newVisitor } from '../../helpers/service/members.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  type ServiceHarness,
} from '../../helpers/service/service.ts';
import type { Visitor } from '../../helpers/service/visitor.ts';

/**
 * Every page and every form of the registry, for every kind of visitor: each role, anonymous, and an admin of another
 * account. New pages are included automatically.
 */
const ranks: Readonly<Record<KeyRole, number>> = { READ_ONLY: 0, READ_RUN: 1, READ_WRITE: 2, ADMIN: 3 };
const marker = 'only-for-this-account';
const isForm = ({ method }: Page) => method === 'POST';
const titled = (all: readonly Page[]) =>
  all.map((page) => [`${page.method ?? 'GET'} ${page.path}`, page] as const);

let harness: ServiceHarness;
let visitors: Readonly<Record<KeyRole, { visitor: Visitor; csrf: string }>>;
let stranger: { visitor: Visitor; csrf: string };
/** Objects of the account by path prefix. */
let objects: readonly (readonly [start: string, id: string])[];
/** Ids of parts of objects, by parameter name. */
let parts: Readonly<Record<string, string>>;

beforeAll(async () => {
  harness = await openHarness();
  const enter = async (email: string) => {
    const visitor = await memberLoggedIn(harness, email);
    return { visitor, csrf: await visitor.csrf('/account/profile') };
  };
  const entries = [];
  for (const role of keyRoles) {
    const email = `${role.toLowerCase()}@example.com`;
    await addMember(harness, email, role);
    entries.push([role, await enter(email)]);
  }
  visitors = Object.fromEntries(entries);
  const { accountId } = await harness.addAccount();
  await addMember(harness, 'stranger@example.com', 'ADMIN', { accountId });
  stranger = await enter('stranger@example.com');

  const location = await createLocation(harness, marker);
  const check = await createCheck(harness, { name: marker, privateLocations: [marker] });
  const make = async (path: string, sent: object) => {
    const { status, body } = await harness.call('POST', path, sent);
    expect(status, JSON.stringify(body)).toBeLessThan(300);
    return body;
  };
  const channel = await make('/v1/alert-channels', {
    type: 'EMAIL',
    config: { address: `${marker}@example.com` },
  });
  const key = await make('/v1/api-keys', { name: marker });
  const invited = await make('/v1/accounts/me/invites', {
    email: `${marker}@example.com`,
    role: 'READ_ONLY',
  });
  const { body: sessions } = await harness.call('GET', '/v1/accounts/me/sessions');
  const member = await harness.store.members.personByEmail('read_only@example.com');
  const group = await make('/v1/check-groups', { name: marker });
  const snippet = await make('/v1/snippets', { name: marker, script: '1' });
  const slo = await make('/v1/slos', { name: marker, tags: [marker], target: 99.9, windowDays: 30 });
  const day = (count: number) => new Date(Date.now() + count * 86_400_000).toISOString();
  const window = await make('/v1/maintenance-windows', {
    name: marker,
    tags: [marker],
    startsAt: day(1),
    endsAt: day(2),
    repeatInterval: null,
    repeatUnit: null,
  });
  const service = await make('/v1/status-pages/services', { name: marker });
  const statusPage = await make('/v1/status-pages', {
    name: marker,
    url: 'owned',
    cards: [{ name: marker, services: [{ id: service.id }] }],
  });
  const incident = await make('/v1/status-pages/incidents', {
    name: marker,
    severity: 'MINOR',
    services: [{ id: service.id }],
    incidentUpdates: [{ status: 'INVESTIGATING', description: marker }],
  });
  const componentPage = await make('/v1/status-pages', { name: marker, url: 'owned-parts', version: 3 });
  const component = await make('/v1/status-pages/components', {
    statusPageId: componentPage.id,
    name: marker,
  });
  const rule = await make('/v1/status-pages/automation-rules', {
    ...{ statusPageId: componentPage.id, name: marker, tags: [marker] },
    ...{ firstUpdate: marker, lastUpdate: marker },
    components: [{ componentId: component.id, targetImpact: 'MAJOR_OUTAGE' }],
  });
  parts = { component: component.id, rule: rule.id };
  const dashboard = await make('/v1/dashboards', { header: marker, customUrl: 'owned-too', tags: [marker] });
  await make('/v1/variables', { key: 'OWNED', value: marker });
  objects = [
    ['/groups', String(group.id)],
    ['/settings/snippets', String(snippet.id)],
    ['/settings/slos', String(slo.id)],
    ['/settings/variables', 'OWNED'],
    ['/pages/maintenance', String(window.id)],
    ['/pages/services', service.id],
    ['/pages/status/:id/components', componentPage.id],
    ['/pages/status/:id/rules', componentPage.id],
    ['/pages/status', statusPage.id],
    ['/pages/incidents', incident.id],
    ['/pages/dashboards', dashboard.dashboardId],
    ['/account/keys', key.id],
    ['/account/invites', invited.id],
    ['/account/members', member?.id ?? ''],
    ['/account/sessions', sessions[0].id],
    ['/alerts/channels', String(channel.id)],
    ['/alerts', check.id],
    ['/locations', location.id],
    ['/', check.id],
  ];
});
afterAll(() => harness.close());

/** A path of the registry with every parameter filled in. */
function filled(path: string, id: string = randomUUID()): string {
  return path
    .replace(/:occurrence/, '1')
    .replaceAll(/:\w+/g, id)
    .replace(/\*$/, 'x');
}

async function ask(page: Page, as: { visitor: Visitor; csrf: string }, path: string) {
  return isForm(page) ? as.visitor.post(path, { csrf: as.csrf }) : as.visitor.get(path);
}

describe.each(titled(pages))('%s', (_name, page) => {
  it(`is for ${page.role} and those above`, async () => {
    for (const role of keyRoles) {
      // With ids that do not exist, so that no form changes anything.
      const { status } = await ask(page, visitors[role], filled(page.path));
      expect([role, status === 403], `answered with ${status}`).toEqual([
        role,
        ranks[role] < ranks[page.role],
      ]);
      expect(status).toBeLessThan(500);
    }
  });

  it('redirects anonymous visitors to the login', async () => {
    const nobody = { visitor: newVisitor(harness), csrf: visitors.ADMIN.csrf };
    const { status, headers } = await ask(page, nobody, filled(page.path));
    expect([status, headers.location]).toEqual([303, expect.stringMatching(/^\/login(\?|$)/)]);
  });

  it('shows nothing to an admin of another account', async () => {
    const [, id = ''] = objects.find(([start]) => page.path.startsWith(start)) ?? [];
    const path = filled(
      page.path.replaceAll(/:(component|rule)\b/g, (_, name: string) => parts[name] ?? ''),
      id,
    );
    const { status, body } = await ask(page, stranger, path);
    // The response may repeat the request, but nothing else.
    expect(body.replaceAll(path, '').replaceAll(encodeURIComponent(path), '')).not.toContain(marker);
    if (path.includes(id)) expect([200, 303, 404, 422]).toContain(status);
  });
});

describe.each(titled(pages.filter(isForm)))('the form %s', (_name, page) => {
  it('is refused without its token, with that of another session, and from another site', async () => {
    const { visitor, csrf } = visitors.ADMIN;
    const path = filled(page.path);
    const tries = [
      await visitor.post(path, {}),
      await visitor.post(path, { csrf: '' }),
      await visitor.post(path, { csrf: `${csrf.slice(0, -1)}~` }),
      await visitor.post(path, { csrf: stranger.csrf }),
      await visitor.post(path, { csrf }, { headers: { 'sec-fetch-site': 'cross-site' } }),
      await visitor.post(
        path,
        { csrf },
        { headers: { 'sec-fetch-site': '', origin: 'https://evil.example' } },
      ),
      await visitor.post(path, { csrf }, { headers: { 'sec-fetch-site': '', origin: 'null' } }),
    ];
    expect(tries.map(({ status }) => status)).toEqual(tries.map(() => 403));
  });
});

it('left the whole account unchanged', async () => {
  const paths = [
    '/v1/checks?limit=100',
    '/v1/private-locations',
    '/v1/alert-channels?limit=100',
    '/v1/api-keys?limit=100',
    '/v1/status-pages/components',
    '/v1/status-pages/automation-rules',
    '/v1/accounts/me/members',
  ];
  for (const path of paths) {
    const { body } = await harness.call('GET', path);
    expect(JSON.stringify(body), path).toContain(marker);
  }
  const { body } = await harness.call('GET', '/v1/accounts/me/members?type=member');
  expect(body.length).toBe(keyRoles.length);
});

describe('forms for anonymous visitors', () => {
  it.each(['/login', '/login/password', '/login/forgotten', '/login/reset/token', '/invitations/token'])(
    '%s is refused if another site sends it',
    async (path) => {
      const visitor = newVisitor(harness);
      const fields = { key: harness.key, email: 'admin@example.com', password: 'x' };
      const sites: readonly Readonly<Record<string, string>>[] = [
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
        { 'sec-fetch-site': '', origin: 'https://evil.example' },
        { 'sec-fetch-site': '' },
      ];
      for (const headers of sites) {
        const answer = await visitor.post(path, fields, { headers });
        expect([path, headers, answer.status]).toEqual([path, headers, 403]);
      }
      expect(visitor.cookies.size).toBe(0);
    },
  );
});
