import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { MqttListener, suiteTopic } from '../../helpers/clients/mqtt-listener.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import {
  createLocation,
  openHarness,
  reportOf,
  type ServiceHarness,
  TestAgent,
  until,
} from '../../helpers/service/service.ts';
import { migratedDatabase } from '../../helpers/service/shared-database.ts';

const noPostgres = whyNoPostgres();

describe.skipIf(noPostgres !== null)('live results of two services on one PostgreSQL', () => {
  const open: ServiceHarness[] = [];
  const listeners: MqttListener[] = [];
  afterEach(async () => {
    for (const listener of listeners.splice(0)) listener[Symbol.dispose]();
    for (const harness of open.splice(0)) await harness.close();
  });

  const follow = async (at: ServiceHarness, owner: ServiceHarness, suiteId: string) => {
    const { port } = at.app.server.address() as AddressInfo;
    const listener = new MqttListener(`http://127.0.0.1:${port}`);
    listeners.push(listener);
    await listener.connect(owner.accountId, owner.key);
    await listener.subscribe(suiteTopic(owner.accountId, suiteId));
    await until('it is subscribed', () => listener.answers.length === 2);
    return listener;
  };

  it('reach subscribers of either, and one that switches between them', async () => {
    const databaseUrl = await migratedDatabase();
    const [one, two] = [await openHarness({ databaseUrl }), await openHarness({ databaseUrl })];
    open.push(one, two);
    for (const { app } of open) await app.listen({ port: 0, host: '127.0.0.1' });
    const location = await createLocation(one, 'lab');
    const suiteId = randomUUID();
    const near = await follow(one, one, suiteId);
    const far = await follow(two, one, suiteId);
    const job = {
      ...{ logicalId: 'home', checkType: 'URL', name: 'Home', request: { url: 'http://shop.test/' } },
      sourceInfo: { checkRunSuiteId: suiteId },
    };
    const agent = new TestAgent(two, location);
    await agent.claim();
    const { status } = await one.call('POST', '/v1/test-sessions/run', {
      ...{ name: 'try', runLocation: { type: 'PRIVATE', slugName: 'lab' }, checkRunJobs: [job] },
    });
    expect(status).toBe(202);
    // The agent of one service, then of the other.
    const [leased] = await agent.claim();
    await until('both know that it began', () => [near, far].every(({ heard }) => heard.length === 1));
    if (leased) await agent.report([reportOf(leased)]);
    await until('both know how it ended', () => [near, far].every(({ heard }) => heard.length === 2));
    expect(near.heard).toEqual(far.heard);
    expect(far.heard.map(({ event }) => event)).toEqual(['run-start', 'result']);
    const moved = await follow(one, one, suiteId);
    await until('it gets what was', () => moved.heard.length === 2);
    expect(moved.heard).toEqual(far.heard);
  });
});
