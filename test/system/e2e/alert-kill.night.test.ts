import { join } from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import { startPicket } from '../../helpers/picket-process.ts';
import { type HttpReceiver, startHttpReceiver } from '../../helpers/service/alert-receivers.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import { openHarness, reportOf, temporaryFolder, until } from '../../helpers/service/service.ts';
import { emptyDatabase } from '../../helpers/service/shared-database.ts';

const key = 'bootstrap-key-of-the-tests';
const noPostgres = whyNoPostgres();

it.each(noPostgres === null ? ['sqlite', 'postgres'] : ['sqlite'])(
  'a service that is killed while it sends an alert leaves it to the next one (%s)',
  { timeout: 240_000 },
  async (engine) => {
    const folder = temporaryFolder();
    const databaseUrl = engine === 'postgres' ? await emptyDatabase() : undefined;
    await using receiver = await startHttpReceiver();
    const killed = startPicket(['service'], {
      PORT: '0',
      HOST: '127.0.0.1',
      EGRESS_ALLOW: '127.0.0.1',
      BOOTSTRAP_API_KEY: key,
      DATA_DIR: folder.path,
      ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
    });
    try {
      const [, url = ''] = await until(
        'the service listens',
        () => /"address":"([^"]+)"/.exec(killed.output()),
        20_000,
      );
      // It is in the middle of sending: the receiver has the request, but the service has no response.
      receiver.answerNext(0);
      await failOnce(url, receiver);
      await until('it is being told', () => receiver.received.length === 1, 20_000);
      await killed.kill('SIGKILL');
      // No other service may send for a minute; the next one starts after that.
      const clock = new ManualClock(systemClock.wallMs() + 61_000);
      const next = await openHarness({
        ...(databaseUrl === undefined ? { folder: folder.path } : { databaseUrl }),
        artifactFolder: join(folder.path, 'artifacts'),
        clock,
      });
      try {
        next.startAlerting();
        await until('it was told again', () => receiver.received.length === 2);
        const [first, again] = receiver.received;
        expect(again?.body).toBe(first?.body);
        expect(again?.headers['x-service-notification-id']).toBe(first?.headers['x-service-notification-id']);
        await until('it ended', async () => (await next.store.notifications.nextDueAt()) === null);
        clock.advance(10 * 60_000);
        expect(receiver.received).toHaveLength(2);
      } finally {
        await next.close();
      }
    } finally {
      await killed.kill('SIGKILL');
      folder.remove();
    }
  },
);

/** Makes a check fail once, reported by an agent of its location. */
async function failOnce(url: string, receiver: HttpReceiver): Promise<void> {
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
  const call = async (path: string, body: unknown, credential = key): Promise<any> => {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(await response.text());
    return response.json();
  };
  const config = { name: 'hook', url: receiver.url, template: '{{ALERT_TITLE}}' };
  await call('/v1/alert-channels', { type: 'WEBHOOK', config });
  const location = await call('/v1/private-locations', { name: 'lab', slugName: 'lab' });
  await call('/v1/checks/url', {
    name: 'Shop',
    frequency: 0,
    frequencyOffset: 10,
    doubleCheck: false,
    privateLocations: ['lab'],
    request: { url: 'http://target.test/' },
  });
  const identity = { agentId: 'agent', sessionId: crypto.randomUUID() };
  const locationKey = location.keys[0].rawKey;
  const claim = {
    ...identity,
    version: '8.0.0',
    platform: 'test',
    checkTypes: ['URL'],
    freeSlots: { probe: 1, script: 0 },
    waitMs: 20_000,
  };
  const { runs } = await call('/v1/agent/claims', claim, locationKey);
  const failed = { owner: 'target', code: 'CONNECTION_REFUSED', message: 'refused' } as const;
  const results = [reportOf(runs[0], { failure: failed })];
  const { items } = await call('/v1/agent/results', { ...identity, results }, locationKey);
  expect(items[0].status).toBe('accepted');
}
