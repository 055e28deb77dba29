import { expect, it } from 'vitest';
import { LeaseKeeper } from '../../../src/agent/client/lease-keeper.ts';
import { ServiceClient } from '../../../src/agent/client/service-client.ts';
import { ServiceClock } from '../../../src/agent/client/service-clock.ts';
import { readAgentSettings } from '../../../src/agent/config.ts';
import { type Clock, systemClock } from '../../../src/lib/clock.ts';
import { createLogger } from '../../../src/lib/log.ts';
import { agentKey } from '../../helpers/agent/agent-process.ts';
import { FakeService } from '../../helpers/agent/fake-service/fake-service.ts';

it.each([
  ['the host was asleep', 600_000],
  ['the clock was set back', -600_000],
])('leases lost while %s are detected before results are sent', async (_name, jumpMs) => {
  const service = new FakeService();
  await service.listen();
  let aheadMs = 0;
  const clock: Clock = { ...systemClock, wallMs: () => Date.now() + aheadMs };
  const serviceClock = new ServiceClock(clock);
  const client = new ServiceClient({
    settings: readAgentSettings({ API_KEY: agentKey, SERVICE_URL: service.url }),
    identity: { agentId: 'a', sessionId: crypto.randomUUID() },
    version: '8',
    clock,
    serviceClock,
    onFailed: () => undefined,
    onRefused: () => undefined,
    onAnswered: () => undefined,
  });
  const keeper = new LeaseKeeper({ client, clock, serviceClock, log: createLogger('test', 'silent') });
  const [lost, held] = [1, 2].map(() => ({ runId: crypto.randomUUID(), leaseNumber: 1 }));
  const ends: string[] = [];
  try {
    for (const lease of [lost, held]) {
      if (!lease) continue;
      service.leases.set(lease.runId, lease);
      keeper.hold(lease, 60_000, clock.monotonicMs() + 60_000, (end) => ends.push(end));
    }
    await keeper.verify();
    expect(service.callsOf('renew')).toEqual([]);
    service.loseLease(lost?.runId ?? '');
    aheadMs = jumpMs;
    await keeper.verify();
    expect(ends).toEqual(['lost']);
    expect(keeper.heldCount).toBe(1);
    // The clock learnt the new offset from the response, and knows that the wall clock is wrong.
    expect(Math.round(serviceClock.wallSkewMs / 1000)).toBe(jumpMs / 1000);
    await keeper.verify();
    expect(service.callsOf('renew')).toHaveLength(1);
  } finally {
    keeper.stop();
    await client.close();
    await service.close();
  }
});
