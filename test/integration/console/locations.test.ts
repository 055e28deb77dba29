import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ManualClock } from '../../helpers/manual-clock.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  type ServiceHarness,
  TestAgent,
} from '../../helpers/service/service.ts';
import { loggedIn, type Visitor } from '../../helpers/service/visitor.ts';

const hostile = `"><script>alert(1)</script>'&{{x}}`;
let harness: ServiceHarness;
let writer: Visitor;
let reader: Visitor;
const clock = new ManualClock(Date.UTC(2026, 10, 22, 12));
beforeAll(async () => {
  harness = await openHarness({ clock });
  writer = await loggedIn(harness);
  reader = await loggedIn(harness, 'READ_ONLY');
});
afterAll(() => harness.close());

async function idOf(slugName: string): Promise<string> {
  const { body } = await harness.call('GET', '/v1/private-locations');
  return body.find((location: { slugName: string }) => location.slugName === slugName).id;
}

describe('a new location', () => {
  it('is shown with its key, once, in the commands that start an agent', async () => {
    const csrf = await writer.csrf('/locations/new');
    const made = await writer.post('/locations/new', { csrf, name: hostile, slugName: 'office' });
    const key = /pl_\w+/.exec(made.body)?.[0] ?? '';
    expect(key.length).toBeGreaterThan(20);
    expect(made.body).toContain('docker run -d');
    expect(made.body).toContain(`API_KEY=${key} -e AGENT_ID=office-1 -e SERVICE_URL=http://localhost`);
    expect(made.body).not.toContain('<script>alert');
    expect(made.headers['cache-control']).toBe('no-store');
    const page = await writer.get(`/locations/${await idOf('office')}`);
    expect(page.body).not.toContain(key);
    expect(page.body).toContain('No agent yet');
    expect(page.body).not.toContain('<script>alert');
    expect((await reader.get('/locations')).body).toContain('&lt;script&gt;alert(1)');
  });

  it('is refused with errors at their fields, and keeps the input', async () => {
    const csrf = await writer.csrf('/locations/new');
    const fields = { name: 'Berlin', slugName: 'eu-central-1', proxyUrl: 'ftp://nowhere' };
    const { status, body } = await writer.post('/locations/new', { csrf, ...fields });
    expect(status).toBe(422);
    expect(body).toMatch(/id="field-slugName"[^>]*aria-describedby="field-slugName-error[^"]*" aria-invalid/);
    expect(body).toMatch(/id="field-slugName-error">Must be 1 to 30 letters/);
    expect(body).toMatch(/id="field-proxyUrl-error">Must start with http/);
    expect(body).toContain('value="Berlin"');
    const taken = await writer.post('/locations/new', { csrf, name: 'Again', slugName: 'office' });
    expect(taken.status).toBe(409);
    expect(taken.body).toContain('There is a private location &quot;office&quot; already.');
  });
});

describe('a location', () => {
  it.each(['http', 'socks5'])('shows its %s proxy without the password', async (scheme) => {
    const location = await createLocation(harness, `proxied-${scheme}`);
    const proxyUrl = `${scheme}://anna:s3cr@et@proxy.test:1080`;
    await harness.call('PUT', `/v1/private-locations/${location.id}`, { proxyUrl });
    const { body } = await reader.get(`/locations/${location.id}`);
    expect(body).toContain(`<code>${scheme}://anna:***@proxy.test:1080</code>`);
  });

  it('shows its agents, what they cannot do, its unhealthy times, and missed runs', async () => {
    const location = await createLocation(harness, 'lab');
    const agent = new TestAgent(harness, location);
    await agent.claim({
      unavailable: { BROWSER: `no namespaces ${hostile}` },
      droppedResults: 7,
      browsers: [{ name: 'firefox', version: `1490 ${hostile}`.slice(0, 60) }],
    });
    const event = { kind: 'resolver', evidence: `no response from 10.0.0.2 ${hostile}`, affectedRuns: 3 };
    const startedAt = clock.wallMs() - 90_000;
    await agent.call('location-events', {
      ...agent.identity,
      events: [{ eventId: randomUUID(), ...event, startedAt, endedAt: null }],
    });
    const { body } = await reader.get(`/locations/${location.id}`);
    expect(body).toContain('Unhealthy');
    expect(body).toContain('The resolver does not respond');
    expect(body).toContain('no response from 10.0.0.2 &quot;&gt;&lt;script');
    expect(body).toContain('1 min 30 s, still');
    expect(body).toContain('no namespaces');
    expect(body).toContain('Browsers firefox 1490 &quot;&gt;&lt;script');
    expect(body).toMatch(/Results lost[\s\S]*>7</);
    expect((await reader.get('/locations')).body).toContain('Unhealthy');
    expect(body).not.toContain('<script>alert');
  });

  it('is healthy while an agent is present, and empty after its exit or when it is silent for longer than a poll', async () => {
    const location = await createLocation(harness, 'shift');
    const health = async () => {
      const { body } = await harness.call('GET', `/v1/private-locations/${location.id}`);
      const page = await reader.get(`/locations/${location.id}`);
      return [
        body.health.state,
        body.health.presentAgents,
        /state-\w+">.*?<\/span>([^<]+)/.exec(page.body)?.[1],
      ];
    };
    expect(await health()).toEqual(['never-seen', 0, 'No agent yet']);
    const agent = new TestAgent(harness, location);
    await agent.claim();
    expect(await health()).toEqual(['healthy', 1, 'Healthy']);
    // The request of an older agent that releases leases.
    await agent.call('leases/release', { ...agent.identity, leases: [] });
    expect(await health()).toEqual(['healthy', 1, 'Healthy']);
    await agent.call('leases/release', { ...agent.identity, leases: [], isLeaving: true });
    expect(await health()).toEqual(['no-agent', 0, 'No agent']);
    await agent.call('leases/renew', { ...agent.identity, leases: [] });
    expect(await health()).toEqual(['no-agent', 0, 'No agent']);
    await new TestAgent(harness, location).claim();
    expect(await health()).toEqual(['healthy', 1, 'Healthy']);
    clock.advance(31_000);
    expect((await reader.get(`/locations/${location.id}`)).body).toContain('last seen 31 s ago');
    clock.advance(14_000);
    expect(await health()).toEqual(['no-agent', 0, 'No agent']);
  });

  it('keeps agents that are gone, with their last words', async () => {
    const location = await createLocation(harness, 'gone');
    const [lost, drained, alive] = ['lost-1', 'drained-1', 'alive-1'].map(
      (name) => new TestAgent(harness, location, name),
    );
    await lost?.claim();
    const event = { kind: 'memory', evidence: '3 MB of 256 MB of memory are free', affectedRuns: 0 };
    await lost?.call('location-events', {
      ...lost.identity,
      events: [{ eventId: randomUUID(), ...event, startedAt: clock.wallMs() - 1_000, endedAt: null }],
    });
    await drained?.claim();
    await drained?.call('leases/release', { ...drained.identity, leases: [], isLeaving: true });
    clock.advance(130_000);
    const condition = {
      ...{ cpuPercent: 12.4, hostLoad: 9, hostCores: 2 },
      ...{ memoryBytes: 90 * 2 ** 20, memoryFreeBytes: 5 * 2 ** 20, memoryLimitBytes: 256 * 2 ** 20 },
      lanes: { probe: { size: 10, running: 3, queued: 2 } },
      spool: { results: 4, sizeBytes: 1_000, maxBytes: 2 ** 30, problem: null },
    };
    await alive?.claim({
      condition,
      checkTypes: ['URL', 'ICMP'],
      backends: { ICMP: 'ICMP datagram sockets' },
      version: '6.1.0',
    });
    const { body: api } = await harness.call('GET', `/v1/private-locations/${location.id}/agents`);
    expect(api.agents).toMatchObject([
      { id: 'alive-1', state: 'connected', condition, isOutdated: true },
      ...[{ state: 'drained' }, { state: 'lost', condition: null }],
    ]);
    const { body } = await reader.get(`/locations/${location.id}`);
    expect(body).toMatch(/>12 %<[\s\S]*Busy host/);
    expect(body).toMatch(/90\.0 MiB<[\s\S]*Low/);
    expect(body).toContain('Probes 3/10 +2');
    expect(body).toContain('4 results');
    expect(body).toContain('2 major versions behind: use picket:');
    expect(body).toContain('(without root, by datagram sockets)');
    expect(body).toMatch(/drained-1[\s\S]*it finished its runs and signed off/);
    expect(body).toMatch(/lost-1[\s\S]*It last reported: the agent is low on memory \(3 MB of 256 MB/);
    const { body: fleet } = await reader.get('/locations');
    expect(fleet).toMatch(/>gone<[\s\S]*1 connected[\s\S]*1 lost[\s\S]*1 drained/);
    expect(fleet).toMatch(/\d+ agents? lost in the last 24 hours\./);
  });

  it('shows who calls with a revoked key, and with an API key', async () => {
    const location = await createLocation(harness, 'revoked');
    const { body: known } = await harness.call('GET', `/v1/private-locations/${location.id}`);
    await new TestAgent(harness, location, 'before').claim();
    await harness.call('DELETE', `/v1/private-locations/${location.id}/keys/${known.keys[0].id}?force=true`);
    const knock = async (key: string) => {
      const answer = await harness.app.inject({
        ...{ method: 'POST', url: '/v1/agent/claims', remoteAddress: '203.0.113.77', payload: {} },
        headers: {
          authorization: `Bearer ${key}`,
          'user-agent': 'picket-agent/8.0.0',
          'x-picket-agent': `shed-3${hostile}`,
        },
      });
      expect(answer.statusCode).toBe(401);
    };
    // However often it calls, it is one agent, written once in ten seconds.
    for (let turn = 0; turn < 5; turn += 1) await knock(location.key);
    await knock(harness.key);
    await knock('pl_of_no_account');
    const { body: agents } = await harness.call('GET', `/v1/private-locations/${location.id}/agents`);
    expect(agents.agents).toMatchObject([{ id: 'before', state: 'revoked' }]);
    expect(agents.refused).toMatchObject([
      { reason: 'revoked-key', address: '203.0.113.77', version: '8.0.0', tries: 1 },
    ]);
    clock.advance(11_000);
    await knock(location.key);
    const { body } = await reader.get(`/locations/${location.id}`);
    expect(body).toMatch(/Refused[\s\S]*shed-3[\s\S]*203\.0\.113\.77[\s\S]*uses the revoked key/);
    expect(body).not.toContain('<script>alert');
    const { body: fleet } = await reader.get('/locations');
    expect(fleet).toMatch(/>revoked<[\s\S]*1 refused/);
    expect(fleet).toContain('It uses the API key');
    const { body: later } = await harness.call('GET', `/v1/private-locations/${location.id}/agents`);
    expect(later.refused[0].tries).toBe(2);
    // Another account sees nothing of it.
    const { key } = await harness.addAccount();
    const other = await harness.call('GET', '/v1/private-locations/fleet', undefined, { key });
    expect(other.body).toEqual({ locations: [], refused: [] });
  });

  it('explains why runs were missed', async () => {
    await createLocation(harness, 'silent');
    await createCheck(harness, { name: 'missed', frequency: 1, privateLocations: ['silent'] });
    harness.startScheduler();
    harness.startLeaseSweep();
    const path = `/locations/${await idOf('silent')}`;
    await expect
      .poll(
        async () => {
          clock.advance(30_000);
          return (await reader.get(path)).body;
        },
        { timeout: 90_000 },
      )
      .toContain('No agent of the location polled for work.');
    // The bars of its days, and a text for missing data.
    const { body } = await reader.get(path);
    expect(body.match(/<title>2026-\d\d-\d\d: /g)).toHaveLength(30);
    expect(body).toMatch(/<title>2026-11-22: 0 % of \d+ measured<\/title>/);
    expect(body).toContain('<title>2026-11-21: no data yet</title>');
    expect(body).toContain('Incomplete days (1)');
  });

  it('has at most two keys, and keeps them until they are revoked', async () => {
    const { id } = await createLocation(harness, 'keys');
    const path = `/locations/${id}`;
    const csrf = await writer.csrf(path);
    const made = await writer.post(`${path}/keys`, { csrf });
    expect(made.body).toMatch(/pl_\w{20,}/);
    const third = await writer.post(`${path}/keys`, { csrf });
    expect(third.status).toBe(409);
    expect(third.body).toContain('which is the maximum');
    const page = await writer.get(path);
    const [, revoke = ''] = /action="([^"]+\/revoke)"/.exec(page.body) ?? [];
    expect((await writer.post(revoke, { csrf })).headers['location']).toBe(path);
    expect((await harness.call('GET', `/v1/private-locations/${id}`)).body.keys).toHaveLength(1);
  });

  it('is renamed, and deleted unless a check refers to it', async () => {
    const { id } = await createLocation(harness, 'moving');
    const path = `/locations/${id}`;
    const csrf = await writer.csrf(path);
    expect((await writer.post(`${path}/edit`, { csrf, name: 'Moved' })).status).toBe(303);
    expect((await writer.get(path)).body).toContain('<h1>Moved</h1>');
    expect((await writer.post(`${path}/edit`, { csrf, name: '' })).body).toMatch(/field-name-error/);
    const check = await createCheck(harness, { name: 'user', privateLocations: ['moving'] });
    const refused = await writer.post(`${path}/delete`, { csrf });
    expect(refused.status).toBe(409);
    expect(refused.body).toContain('is used by the checks &quot;user&quot;');
    await harness.call('DELETE', `/v1/checks/${check.id}`);
    expect((await writer.post(`${path}/delete`, { csrf })).headers['location']).toBe('/locations');
    expect((await writer.get(path)).status).toBe(404);
  });

  it('offers readers only what they may do, and also refuses the rest', async () => {
    const id = await idOf('office');
    for (const path of ['/locations', `/locations/${id}`]) {
      const { body } = await reader.get(path);
      expect(body).not.toMatch(/Create a key|Revoke|Delete|New location|>Edit</);
    }
    expect((await reader.get('/locations/new')).status).toBe(403);
    const csrf = await reader.csrf();
    expect((await reader.post(`/locations/${id}/delete`, { csrf })).status).toBe(403);
    expect((await reader.post(`/locations/${id}/keys`, { csrf })).status).toBe(403);
    expect((await writer.post(`/locations/${id}/delete`, {})).status).toBe(403);
  });

  it('of another account is not found', async () => {
    const { key } = await harness.addAccount();
    const other = await loggedIn(harness, undefined, key);
    expect((await other.get(`/locations/${await idOf('office')}`)).status).toBe(404);
    expect((await other.get('/locations/no-such-id')).status).toBeGreaterThanOrEqual(400);
    expect((await other.get('/locations/no-such-id')).status).toBeLessThan(500);
  });
});
