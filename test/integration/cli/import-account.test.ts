import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readProject } from '../../../src/cli/project/files.ts';
import { problemsOf } from '../../../src/cli/project/validate.ts';
import { importAccount } from '../../../src/extras/importers/account/account.ts';
import { importAccountFrom } from '../../../src/extras/importers/import-account.ts';
import { kinds } from '../../../src/protocol/projects/kinds.ts';
import { silentFields } from '../../helpers/cli/sources.ts';

const check = (id: number, fields: object = {}) => ({
  ...{
    id: `00000000-0000-4000-8000-${String(id).padStart(12, '0')}`,
    checkType: 'API',
    name: `Check ${id}`,
    frequency: 5,
  },
  ...{
    activated: true,
    locations: ['eu-central-1'],
    groupId: 7,
    created_at: '2026-01-01T00:00:00.000Z',
    accountId: 'a',
  },
  setupSnippetId: 5,
  request: {
    method: 'GET',
    url: 'https://example.com/',
    headers: [{ key: 'a', value: '', locked: true }],
    assertions: [],
  },
  alertChannelSubscriptions: [{ alertChannelId: 3, activated: true }],
  ...fields,
});
const odd = check(1, {
  ...{ intent: { goal: 'g' }, tags: ['a', 'b'], frequency: 7, locations: ['eu-central-1', 'mars'] },
  request: { method: 'GET', url: 'https://example.com/', newer: true, assertions: [] },
});
/** Paths that the other service answered with 404. */
const notServed = new Set<string>();
/** Kinds that the other service does not have. */
const unserved = () =>
  kinds.filter(({ routes }) => notServed.has(routes.list.path)).map(({ folder: name }) => name);
const account: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>> = {
  '/v1/checks': [
    odd,
    ...Array.from({ length: 150 }, (_, index) => check(index + 2)),
    check(900, { checkType: 'NEWER' }),
  ],
  '/v1/check-groups': [{ id: 7, name: 'Shop', tags: [], created_at: '2026-01-01T00:00:00.000Z' }],
  '/v1/alert-channels': [
    { id: 3, type: 'EMAIL', config: { address: 'a@example.com' }, sendFailure: true },
    { id: 4, type: 'PUSHOVER', config: {} },
  ],
  '/v1/maintenance-windows': [],
  '/v1/variables': [{ key: 'TOKEN', value: '', locked: true, created_at: '2026-01-01T00:00:00.000Z' }],
  '/v1/snippets': [{ id: 5, name: 'login', script: 'x();', created_at: '2026-01-01T00:00:00.000Z' }],
  '/v1/client-certificates': [{ id: 'c', host: 'shop.example.com', cert: 'PEM', ca: null }],
  '/v1/private-locations': [{ id: 'x', name: 'Office', slugName: 'office', icon: 'location', keys: [] }],
  '/v1/status-pages/services': [{ id: '00000000-0000-4000-8000-00000000000a', name: 'Cart' }],
};

// A service with pagination, rate limits, and no dashboards.
let asked: string[];
const server = createServer((request, response) => {
  const url = new URL(request.url ?? '', 'http://x');
  asked.push(`${url.pathname} ${String(request.headers['x-checkly-account'])}`);
  const send = (status: number, body: unknown, headers = {}) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };
  if (request.headers.authorization !== 'Bearer k') return send(401, { message: 'No.' });
  if (asked.length === 2) return send(429, { message: 'Too often.' }, { 'retry-after': '0' });
  const rows = account[url.pathname];
  if (url.pathname === '/v1/status-pages') return send(200, { length: 0, entries: [], nextId: null });
  if (!rows) {
    notServed.add(url.pathname);
    return send(404, { message: 'Not here.' });
  }
  if (url.pathname.endsWith('services')) {
    return send(
      200,
      url.searchParams.has('nextId')
        ? { length: rows.length, entries: rows, nextId: null }
        : { length: 0, entries: [], nextId: '1.x' },
    );
  }
  const [limit, page] = ['limit', 'page'].map((name) => Number(url.searchParams.get(name) ?? 1));
  const first = ((page ?? 1) - 1) * (limit ?? 1);
  return send(200, url.searchParams.has('limit') ? rows.slice(first, first + (limit ?? 1)) : rows);
});
let folder: string;
beforeEach(async () => {
  asked = [];
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  folder = await mkdtemp(join(tmpdir(), 'picket-account-'));
});
afterEach(async () => {
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true });
});

it('reads all pages of an account, waits when requested, and lists what it cannot import', async () => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const target = join(folder, 'account');
  const { json } = await importAccountFrom(target, { url, account: 'a' }, { IMPORT_API_KEY: 'k' });
  const { losses, files } = json as { losses: { field: string; reason: string }[]; files: string[] };
  expect(files.filter((file) => file.startsWith('checks/'))).toHaveLength(151);
  expect(asked).toContain('/v1/checks a');
  expect(new Set(losses.map(({ field }) => field))).toEqual(
    new Set([
      ...[
        'checks/Check 1.intent',
        'checks/Check 1.frequency',
        'checks/Check 1.locations.1',
        'checks/Check 1.request.newer',
      ],
      ...['checks/Check 900', 'alert-channels/PUSHOVER', ...unserved()],
      ...files
        .filter((file) => /checks\/check-(?!1\.)/.test(file))
        .map((file) => `${file} request.headers.a`),
      ...['variables/token.yaml value', 'client-certificates/shop-example-com.yaml key'],
    ]),
  );
  const project = await readProject(target);
  expect(problemsOf(project)).toEqual([]);
  expect(project.definitions.find(({ logicalId }) => logicalId === 'check-2')?.fields).toMatchObject({
    ...{ group: 'shop', alertChannels: ['a-example-com'], frequency: 5, setupSnippet: 'login' },
  });
});

it('reports missing inputs', async () => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await expect(importAccountFrom(folder, { url }, {})).rejects.toThrow('IMPORT_API_KEY');
  await expect(importAccountFrom(folder, { url: 'x' }, { IMPORT_API_KEY: 'k' })).rejects.toThrow('http://');
  await expect(importAccountFrom(folder, { url }, { IMPORT_API_KEY: 'wrong' })).rejects.toThrow('No.');
});

it('loses nothing without a word: every field is carried over or on the list', () => {
  const whole = check(2, { description: 'd', muted: true, newer: { a: 1 } });
  const read = (view: unknown) => {
    const imported = importAccount([{ folder: 'checks', id: whole.id, view: view as typeof whole }]);
    const losses = imported.losses.map((loss) => ({
      ...loss,
      field: loss.field.replace(/^checks\/[^.]*\.?/, ''),
    }));
    // A hidden value counts as missing.
    const hidden = [{ field: 'request.headers.0.value', reason: 'it is not shown' }];
    return { definitions: imported.definitions, values: {}, losses: [...losses, ...hidden] };
  };
  const ids = /^(id|created_at|accountId)$/;
  expect(silentFields(whole, read).filter((field) => !ids.test(field))).toEqual([]);
});

it('lists no fields that occur only in responses, of any kind', () => {
  const shown = { id: randomUUID(), created_at: '2026-01-01T00:00:00.000Z', updated_at: null };
  const page = { ...shown, name: 'Shop', url: 'shop', cards: [], customDomain: 'status.example.com' };
  const { losses, definitions } = importAccount([
    {
      folder: 'locations',
      id: shown.id,
      view: { ...shown, name: 'Office', slugName: 'office', health: { state: 'healthy' } },
    },
    {
      folder: 'status-pages',
      id: shown.id,
      view: { ...page, customDomainState: { isProven: false }, whiteLabel: false, keys: [] },
    },
  ]);
  expect(losses).toEqual([]);
  expect(definitions).toHaveLength(2);
});
