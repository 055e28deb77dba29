import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../helpers/manual-clock.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import { openHarness, until } from '../../helpers/service/service.ts';
import { emptyDatabase } from '../../helpers/service/shared-database.ts';

const noPostgres = whyNoPostgres();

describe.skipIf(noPostgres !== null)(`several services on PostgreSQL${noPostgres ?? ''}`, () => {
  it('record a missed ping once, and continue when the watching one is gone', async () => {
    const databaseUrl = await emptyDatabase();
    const clock = new ManualClock();
    const one = await openHarness({ databaseUrl, clock });
    const two = await openHarness({ databaseUrl, clock });
    try {
      await until('the first leads', () => one.store.isLeader());
      const check = await one.call('POST', '/v1/checks/heartbeat', {
        name: 'job',
        heartbeat: { period: 1, periodUnit: 'minutes', grace: 0, graceUnit: 'seconds' },
      });
      const states = async () =>
        (
          await two.store.heartbeats.events(check.body.id, { from: 0, to: 1e15 }, { limit: 100, offset: 0 })
        ).map(({ state }) => state);
      one.startHeartbeatWatch();
      two.startHeartbeatWatch();
      // Pings may arrive at any process, several at once.
      const ping = (harness: typeof one) =>
        harness.call('GET', check.body.heartbeat.pingUrl, undefined, { key: null });
      expect((await Promise.all([one, two, one, two].map(ping))).map(({ status }) => status)).toEqual([
        200, 200, 200, 200,
      ]);
      expect(await states()).toHaveLength(4);
      const missed = async (count: number) =>
        until(`${count} missed pings`, async () => {
          clock.advance(1000);
          return (await states()).filter((state) => state === 'FAILING').length === count;
        });
      await missed(1);
      await one.close();
      await until('the other one leads', () => two.store.isLeader());
      await missed(2);
      expect(await two.store.runs.countSlots(check.body.id)).toEqual({ final: 6 });
    } finally {
      await two.close();
    }
  }, 180_000);
});
