import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createCheck,
  createLocation,
  metricsToken,
  openHarness,
  reportOf,
  type ServiceHarness,
  TestAgent,
  type TestLocation,
  until,
} from '../../helpers/service/service.ts';

let harness: ServiceHarness;
let location: TestLocation;
beforeEach(async () => {
  harness = await openHarness({ readerTimeoutMs: 300 });
  location = await createLocation(harness, 'lab');
});
afterEach(() => harness.close());

describe('the effect of a location key on others', () => {
  it('is limited in the number of kept sessions', async () => {
    const now = harness.clock.wallMs();
    for (let index = 0; index < 3_000; index += 1) {
      await harness.store.locations.agentSeen({
        location_id: location.id,
        agent_id: `agent-${index}`,
        session_id: randomUUID(),
        version: '8.0.0',
        platform: 'test',
        check_types: '[]',
        capabilities: '{}',
        key_id: null,
        first_seen: now - 1000,
        last_seen: now - 1000,
      });
    }
    for (let index = 0; index < 100; index += 1) {
      await new TestAgent(harness, location, `late-${index}`).claim();
    }
    const { body } = await harness.call('GET', `/v1/private-locations/${location.id}`);
    expect(body.agentCount).toBeLessThanOrEqual(2_000);
    const kept = body.runningAgents[0].agents.map(({ id }: { id: string }) => id);
    for (const index of [0, 50, 99]) expect(kept).toContain(`late-${index}`);
    const metrics = await harness.call('GET', '/metrics', undefined, { key: metricsToken });
    expect(metrics.body).toContain(`} ${body.agentCount}`);
  });

  it('counts a restarted agent once, and two machines with one id twice', async () => {
    const seen = (agentId: string, from: number, to: number) =>
      harness.store.locations.agentSeen({
        location_id: location.id,
        agent_id: agentId,
        session_id: randomUUID(),
        version: '8.0.0',
        platform: 'test',
        check_types: '[]',
        capabilities: '{}',
        key_id: null,
        first_seen: harness.clock.wallMs() - from,
        last_seen: harness.clock.wallMs() - to,
      });
    await seen('restarted', 90_000, 60_000);
    await seen('restarted', 50_000, 10_000);
    await seen('cloned', 90_000, 20_000);
    await seen('cloned', 50_000, 10_000);
    const { body } = await harness.call('GET', `/v1/private-locations/${location.id}`);
    expect(body.agentCount).toBe(3);
  });

  it('never breaks lists: instants that cannot be shown are refused', async () => {
    const agent = new TestAgent(harness, location);
    await agent.claim();
    const checkId = (await createCheck(harness, { privateLocations: ['lab'] })).id;
    await harness.call('POST', '/v1/check-sessions/trigger', { target: { checkId } });
    const [run] = await agent.claim();
    if (!run) throw new Error('nothing was leased');
    for (const at of [8.64e15, 253_402_300_800_000]) {
      for (const field of ['startedAt', 'stoppedAt', 'hostStartedAt', 'certificateExpiresAt']) {
        expect(await agent.report([reportOf(run, { [field]: at })]), field).toEqual(['rejected']);
      }
    }
    expect(await agent.report([reportOf(run, { startedAt: 253_402_300_799_999 })])).toEqual(['accepted']);
    for (const path of [`check-results/${checkId}`, 'check-statuses', 'checks', 'reporting']) {
      expect((await harness.call('GET', `/v1/${path}`)).status, path).toBe(200);
    }
  });
});

it.each(['9999-12-31T23:59:59-05:00', '0000-01-01T00:00:00+05:00'])(
  'refuses an incident of %s, which no response could show',
  async (date) => {
    const page = await harness.call('POST', '/v1/status-pages', { name: 'Shop', url: 'shop' });
    const service = await harness.call('POST', '/v1/services', { name: 'Web' });
    const update = { description: 'x', status: 'INVESTIGATING', publicIncidentUpdateDate: date };
    const made = await harness.call('POST', '/v1/status-pages/incidents', {
      name: 'down',
      severity: 'MAJOR',
      services: [{ id: service.body.id }],
      incidentUpdates: [update],
    });
    expect([page.status, made.status], JSON.stringify(made.body)).not.toContain(500);
    expect(made.status).toBe(400);
  },
);

it('closes the connection of a reader that does not read its response', async () => {
  const url = new URL(await harness.app.listen({ port: 0, host: '127.0.0.1' }));
  for (let index = 0; index < 60; index += 1) {
    await harness.call('POST', '/v1/snippets', { name: `s ${index}`, script: 'x'.repeat(200_000) });
  }
  const socket = connect({ port: Number(url.port), host: '127.0.0.1' });
  socket.on('error', () => undefined);
  socket.pause();
  socket.write(
    `GET /v1/snippets?limit=100 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${harness.key}\r\n\r\n`,
  );
  const connections = () =>
    new Promise<number>((resolve) => harness.app.server.getConnections((_error, count) => resolve(count)));
  await until('the connection is there', async () => (await connections()) > 0);
  await until('the connection is closed', async () => (await connections()) === 0);
  socket.destroy();
});
