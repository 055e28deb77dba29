import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failure } from '../../../src/checks/contract/failure.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  reportOf,
  type ServiceHarness,
  TestAgent,
  until,
} from '../../helpers/service/service.ts';
import { loggedIn, type Visitor } from '../../helpers/service/visitor.ts';
import { textOf } from '../../helpers/surfaces/oracle.ts';

const hostile = `<svg onload=alert(1)>`;
const clock = new ManualClock(Date.UTC(2026, 10, 22, 12));
const ids = new Map<string, string>();
let harness: ServiceHarness;
let agent: TestAgent;
let writer: Visitor;
let runner: Visitor;
let reader: Visitor;
let groupId: number;
const idOf = (name: string) => ids.get(name) ?? '';

beforeAll(async () => {
  harness = await openHarness({ clock });
  [writer, runner, reader] = [
    await loggedIn(harness),
    await loggedIn(harness, 'READ_RUN'),
    await loggedIn(harness, 'READ_ONLY'),
  ];
  agent = new TestAgent(harness, await createLocation(harness, 'lab'));
  await createLocation(harness, 'nobody');
  await createLocation(harness, 'unused');
  groupId = (await harness.call('POST', '/v1/check-groups', { name: `Shop ${hostile}` })).body.id;
  for (const [name, fields] of [
    ['alpha', { tags: ['web', 'eu'] }],
    ['beta', { tags: ['web'], groupId }],
    ['gamma', { tags: [hostile], muted: true }],
    ['delta', { privateLocations: ['nobody'] }],
  ] as const) {
    const options = { frequency: 1, privateLocations: ['lab'], retryStrategy: null, doubleCheck: false };
    ids.set(name, (await createCheck(harness, { ...options, name, ...fields })).id);
  }
  harness.startScheduler();
  clock.advance(60_000);
  const down = failure('CONNECTION_REFUSED', 'connect ECONNREFUSED');
  const waiting = new Set(['alpha', 'beta', 'gamma'].map(idOf));
  await until('the checks of the lab have run', async () => {
    const runs = await agent.claim({ checkTypes: ['API', 'URL'] });
    if (runs.length > 0) {
      await agent.report(
        runs.map((run) =>
          reportOf(run, run.check.id === idOf('beta') ? { failure: down } : { responseTimeMs: 40 }),
        ),
      );
    } else clock.advance(20);
    for (const { check } of runs) waiting.delete(check.id);
    return waiting.size === 0;
  });
});
afterAll(() => harness.close());

/** The overview with its figures, which may arrive a moment later. */
async function overview(path: string, visitor: Visitor = reader): Promise<string> {
  for (;;) {
    const { body } = await visitor.get(path);
    if (!body.includes('data-unfinished')) return body;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
const namesIn = (body: string) =>
  [...body.matchAll(/class="check-link" href="[^"]+">([^<]+)</g)].map(([, name]) => name);
const rowOf = (body: string, name: string) =>
  body.split('<tr ').find((row) => row.startsWith(`class="check`) && row.includes(`>${name}</a>`)) ?? '';

describe('the table', () => {
  it('has one header, and a row for each check with its state, cause, tags, runs and figures', async () => {
    const body = await overview('/');
    const headers = [...body.matchAll(/<th scope="col"[^>]*>([\s\S]*?)<\/th>/g)].map(([, cell = '']) =>
      textOf(cell).trim(),
    );
    expect(headers).toEqual(['State', 'Check', 'Last runs', '24 h', '7 d', 'p95', 'Last run']);
    const beta = rowOf(body, 'beta');
    expect(beta).toMatch(/title="Failing"[\s\S]*<span class="hidden">Failing<\/span>/);
    expect(beta).toMatch(
      /<p class="cause" title="The target refused[^>]*><a href="\/checks\/[\w-]+\/runs\/[\w-]+">The target refused the connection/,
    );
    expect(beta).toContain('<a class="tag" href="/?tag=web">web</a>');
    expect(beta).toContain('class="bar-failed"');
    const alpha = rowOf(body, 'alpha');
    expect(textOf(alpha)).toContain('100 %');
    expect(alpha).toMatch(/title="All due runs were measured"[\s\S]*class="coverage hidden">all measured/);
    expect(rowOf(body, 'gamma')).toMatch(/title="Muted"/);
    expect(rowOf(body, 'delta')).toMatch(/>–</);
    expect(body).not.toContain(hostile);
  });

  it('has the number of failing checks in the title and the icon', async () => {
    const body = await overview('/');
    expect(body).toContain('<title>(1) Overview · Picket</title>');
    expect(body).toMatch(/data-icon="\/assets\/icon-failing\./);
  });

  it('has it on every other page as well, which follows the account', async () => {
    const titleOf = (body: string) => /<title>([^<]*)/.exec(body)?.[1];
    for (const [path, title] of [
      ['/alerts', 'Alerts'],
      [`/checks/${idOf('alpha')}`, 'alpha'],
      ['/settings/projects', 'Projects'],
      ['/no-such-page', 'Not found'],
    ]) {
      expect([path, titleOf((await reader.get(path ?? '')).body)]).toEqual([path, `(1) ${title} · Picket`]);
    }
    const call = (isActive: boolean) =>
      harness.call('PUT', `/v1/checks/${idOf('beta')}`, { activated: isActive });
    await call(false);
    // Where counting takes long, a count is kept for twenty times as long.
    await until('it is counted again', async () => {
      return titleOf((await reader.get('/alerts')).body) === 'Alerts · Picket';
    });
    await call(true);
  });

  it('is sorted by its columns over all pages, which the header says', async () => {
    const sorted = async (sort: string) => namesIn(await overview(`/?sort=${sort}`));
    expect(namesIn(await overview('/'))[0]).toBe('beta');
    expect((await sorted('-state')).at(-1)).toBe('beta');
    expect(await sorted('name')).toEqual(['alpha', 'beta', 'delta', 'gamma']);
    expect(await sorted('-name')).toEqual(['gamma', 'delta', 'beta', 'alpha']);
    expect((await sorted('run'))[0]).toBe('delta');
    expect((await sorted('-run')).at(-1)).toBe('delta');
    expect((await sorted('day'))[0]).toBe('beta');
    expect((await sorted('-p95')).slice(0, 1)).toEqual(['alpha']);
    expect(await sorted('nonsense')).toEqual(await sorted('state'));
    const body = await overview('/?sort=-name&tag=web');
    expect(body).toMatch(/aria-sort="descending"><a href="\/\?tag=web&amp;sort=name">Check</);
    expect(body.match(/aria-sort/g)).toHaveLength(1);
    expect(body).toContain('<input type="hidden" name="sort" value="-name">');
    expect(body).toMatch(/<a href="\/" aria-current="page">/);
  });

  it('folds groups in the same table', async () => {
    const body = await overview('/?by=group');
    expect(body.match(/<table>/g)).toHaveLength(1);
    const group = new RegExp(
      `<details class="check-group" id="group-${groupId}" open><summary>[\\s\\S]*?1 check: 1 failing`,
    );
    expect(body).toMatch(group);
    expect(body.match(/<tbody>/g)).toHaveLength(2);
  });

  it('is topped by a banner for each location without agents that has active checks', async () => {
    const body = await overview('/');
    const banners = [...body.matchAll(/<p class="banner">[\s\S]*?<\/p>/g)].map(([banner]) =>
      textOf(banner).trim(),
    );
    expect(banners).toEqual([
      expect.stringMatching(/^nobody has no agent yet: 1 check is not measured there\. +Start an agent$/),
    ]);
    expect(body).toMatch(/class="banner-act" href="\/locations\/[\w-]+"/);
  });
});

describe('several checks at once', () => {
  const send = async (
    visitor: Visitor,
    names: readonly string[],
    fields: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {},
  ) => {
    const form = new URLSearchParams({ csrf: await visitor.csrf('/search'), ...fields });
    for (const name of names) form.append('check', ids.get(name) ?? name);
    return visitor.post('/checks/selected', form, { headers });
  };
  const stored = async (name: string) => (await harness.call('GET', `/v1/checks/${idOf(name)}`)).body;
  const toastOf = (visitor: Visitor) =>
    Buffer.from(visitor.cookies.get('picket-toast') ?? '', 'base64url').toString();

  it('are paused, resumed, muted, unmuted, tagged and moved by the operations of the API', async () => {
    const both = ['alpha', 'gamma'];
    const referer = { referer: 'http://localhost/?tag=web&sort=name' };
    const paused = await send(writer, both, { do: 'pause' }, referer);
    expect([paused.status, paused.headers['location']]).toEqual([303, '/?tag=web&sort=name']);
    expect(toastOf(writer)).toBe('2 checks paused.');
    expect([(await stored('alpha')).activated, (await stored('gamma')).activated]).toEqual([false, false]);
    await send(writer, both, { do: 'resume' });
    await send(writer, both, { do: 'mute' });
    expect(await stored('alpha')).toMatchObject({ activated: true, muted: true });
    await send(writer, both, { do: 'unmute' });
    await send(writer, both, { do: 'tag', tag: ' new ' });
    // Enter in the field of the tag.
    await send(writer, ['gamma'], { do: '', tag: 'other' });
    await send(writer, ['alpha'], { do: 'untag', tag: 'eu' });
    await send(writer, both, { do: 'move', groupId: String(groupId) });
    expect(await stored('alpha')).toMatchObject({ muted: false, tags: ['web', 'new'], groupId });
    expect(await stored('gamma')).toMatchObject({ muted: false, tags: [hostile, 'new', 'other'], groupId });
    await send(writer, both, { do: 'move', groupId: '' });
    expect((await stored('alpha')).groupId).toBeNull();
    const { body: log } = await harness.call('GET', '/v1/audit-log?limit=100');
    expect(JSON.stringify(log)).toContain(`checks/${idOf('gamma')}`);
  });

  it('run now, for roles that may run, which are offered nothing else', async () => {
    const body = await overview('/', runner);
    expect([...body.matchAll(/name="do" value="(\w+)"/g)].map(([, value]) => value)).toEqual(['run']);
    await send(runner, ['alpha', 'beta'], { do: 'run' });
    expect(toastOf(runner)).toBe('2 checks started.');
    const refused = await send(runner, ['alpha'], { do: 'pause' });
    expect([refused.status, refused.body.includes('alpha')]).toEqual([422, true]);
    expect((await stored('alpha')).activated).toBe(true);
  });

  it('are not offered to readers', async () => {
    expect(await overview('/')).not.toMatch(/type="checkbox"|id="bulk"/);
    expect((await send(reader, ['alpha'], { do: 'pause' })).status).toBe(403);
  });

  it('continue after a refusal, which names the check and the reason', async () => {
    const gone = '00000000-0000-4000-8000-000000000000';
    const { status, body } = await send(writer, [gone, 'not-an-id', 'alpha'], { do: 'mute' });
    expect(status).toBe(422);
    expect(textOf(body)).toMatch(/2 checks not muted[\s\S]*The other 1 check: muted/);
    expect(body).toContain(`/checks/${gone}`);
    expect((await stored('alpha')).muted).toBe(true);
    const other = await send(writer, ['beta'], { do: 'move', groupId: '999' });
    expect(textOf(other.body)).toMatch(/1 check not moved[\s\S]*beta/);
  });

  it('need a check, a button and its field', async () => {
    const said = async (names: readonly string[], fields: Readonly<Record<string, string>>) => {
      expect((await send(writer, names, fields)).headers['location']).toBe('/');
      return toastOf(writer);
    };
    expect(await said([], { do: 'pause' })).toBe('No check was selected.');
    expect(await said(['alpha'], { do: 'toString' })).toMatch(/^Nothing was done/);
    expect(await said(['alpha'], { do: 'tag', tag: ' ' })).toBe('Enter a tag.');
  });

  it('are of the account of the viewer only', async () => {
    const { key } = await harness.addAccount();
    const stranger = await loggedIn(harness, 'READ_WRITE', key);
    const tries: Record<string, string>[] = [
      { do: 'pause' },
      { do: 'delete' },
      { do: 'delete', sure: 'yes' },
    ];
    for (const fields of tries) {
      expect((await send(stranger, ['beta'], fields)).body).not.toContain('beta');
    }
    expect((await stored('beta')).activated).toBe(true);
  });

  it('are deleted after a question, or by a script that offers to undo it', async () => {
    const extra = [];
    for (const name of ['first extra', 'second extra', 'third extra'])
      extra.push((await createCheck(harness, { name, privateLocations: ['lab'] })).id);
    const [first = '', second = '', third = ''] = extra;
    const asked = await send(writer, [first, second], { do: 'delete' });
    expect(textOf(asked.body)).toMatch(/Delete 2 checks\?[\s\S]*first extra[\s\S]*second extra/);
    expect((await harness.call('GET', `/v1/checks/${first}`)).status).toBe(200);
    await send(writer, [first, second], { do: 'delete', sure: 'yes' });
    expect(toastOf(writer)).toBe('2 checks deleted.');
    expect((await harness.call('GET', `/v1/checks/${first}`)).status).toBe(404);
    const accept = { accept: 'application/json' };
    const answer = await send(writer, [third, first], { do: 'delete', sure: 'yes' }, accept);
    expect(JSON.parse(answer.body)).toMatchObject({ done: 1, refusals: [{ id: first }] });
  });

  it('share no token of a session between readers of the same list', async () => {
    const other = await loggedIn(harness);
    const tokens = await Promise.all(
      [writer, other].map(
        async (visitor) =>
          /id="bulk"[\s\S]*?name="csrf" value="([^"]+)"/.exec(await overview('/', visitor))?.[1],
      ),
    );
    const post = (csrf = '') => other.post('/checks/selected', { csrf, do: 'pause' });
    expect((await Promise.all(tokens.map(post))).map(({ status }) => status)).toEqual([403, 303]);
  });
});

describe('the search for everything', () => {
  beforeAll(async () => {
    await harness.call('POST', '/v1/dashboards', { header: 'Beta wall', customUrl: 'wall', tags: ['web'] });
    const service = (await harness.call('POST', '/v1/status-pages/services', { name: 'Shop' })).body;
    const cards = [{ name: 'Core', services: [{ id: service.id }] }];
    await harness.call('POST', '/v1/status-pages', { name: 'Bettina status', url: 'bettina', cards });
  });
  const found = async (visitor: Visitor, q: string) => {
    const { body } = await visitor.get(`/search?part=list&q=${encodeURIComponent(q)}`);
    expect(body).not.toContain('<html');
    return [...body.matchAll(/class="found-entry"(?: href="([^"]+)")?[^>]*>([\s\S]*?)<\/(?:a|button)>/g)].map(
      ([, href = '', words = '']) => `${href} ${textOf(words).replaceAll(/\s+/g, ' ').trim()}`,
    );
  };

  it('finds checks, groups, locations, status pages, dashboards, pages and actions by name', async () => {
    expect(await found(reader, 'BET')).toEqual([
      expect.stringMatching(`^/checks/${idOf('beta')} .*beta URL monitor Check$`),
      expect.stringMatching(/^\/pages\/status\/[\w-]+ Bettina status bettina Status page$/),
      expect.stringMatching(/^\/pages\/dashboards\/\w+ Beta wall wall Dashboard$/),
    ]);
    expect(await found(reader, 'lab')).toContainEqual(
      expect.stringMatching(/^\/locations\/[\w-]+ lab lab Location$/),
    );
    expect(await found(reader, 'shop')).toContainEqual(expect.stringMatching(`^/\\?group=${groupId} Shop`));
    expect(await found(reader, 'snip')).toEqual(['/settings/snippets Snippets Settings Page']);
    expect(await found(writer, 'new snip')).toEqual(['/settings/snippets/new New snippet Action']);
    expect(await found(reader, 'log out')).toEqual([' Log out Action']);
    expect(await found(reader, 'alerts')).toEqual([
      '/alerts Alerts Page',
      '/alerts/notifications Notifications Alerts Page',
      '/alerts/channels Alert channels Alerts Page',
    ]);
  });

  it('offers pages of the role, and things of the account', async () => {
    const own = (await found(reader, '')).join('\n');
    expect(own).toContain('/alerts Alerts');
    expect(own).not.toMatch(/New check|API keys/);
    expect((await found(writer, '')).join('\n')).toContain('/checks/new New check');
    const { key } = await harness.addAccount();
    const stranger = await loggedIn(harness, 'READ_ONLY', key);
    for (const q of ['beta', 'lab', 'shop', 'bettina', 'wall']) expect(await found(stranger, q)).toEqual([]);
  });

  it('is bounded, and shows every text as text', async () => {
    for (const q of ['%', '_', '\\', hostile, 'x'.repeat(10_000), '☃', 'a b c d e f g h i j']) {
      const { status, body } = await reader.get(`/search?q=${encodeURIComponent(q)}`);
      expect([q.slice(0, 9), status]).toEqual([q.slice(0, 9), 200]);
      expect(body).not.toContain(hostile);
      expect(body.length).toBeLessThan(40_000);
    }
    expect(await found(reader, '%')).toEqual([]);
  });

  it('is a page of its own without scripts', async () => {
    const { body } = await reader.get('/search?q=alph');
    expect(body).toContain('<h1>Search</h1>');
    expect(body).toContain(`href="/checks/${idOf('alpha')}"`);
    expect((await reader.get('/')).body).toMatch(
      /<a class="button search-button" href="\/search" data-palette>/,
    );
    expect((await writer.get('/')).body).toContain('data-palette data-create="/checks/new"');
    expect((await reader.get('/search?q=nothing-is-called-so')).body).toContain('Nothing is called');
  });
});
