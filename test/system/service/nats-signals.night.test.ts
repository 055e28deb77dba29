import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { createLogger } from '../../../src/lib/log.ts';
import { isCredentials } from '../../../src/platform/config/nats-servers.ts';
import type { Signal } from '../../../src/platform/store/engine/signals.ts';
import type { Store } from '../../../src/platform/store/store.ts';
import { openStore } from '../../../src/server/compose.ts';
import { createKeyedUser } from '../../helpers/service/nats-credentials.ts';
import { startNats, whyNoNats } from '../../helpers/service/nats-server.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import { until } from '../../helpers/service/service.ts';
import { migratedDatabase } from '../../helpers/service/shared-database.ts';

const missing = whyNoPostgres() ?? whyNoNats();
const tested = (testSessionId: string): Signal => ({ kind: 'tested', testSessionId });

describe.skipIf(missing !== null)(`signals over NATS${missing ? `: ${missing}` : ''}`, () => {
  const opened: AsyncDisposable[] = [];
  afterEach(async () => {
    for (const each of opened.splice(0).toReversed()) await each[Symbol.asyncDispose]();
  });

  /** The store of one process, with its log and the signals it received. */
  async function open(databaseUrl: string, url: string, credentials?: string) {
    const lines: string[] = [];
    const logger = createLogger('test', 'info', { write: (line) => lines.push(line) });
    const store: Store = await openStore({ databaseUrl, path: '', logger, nats: { url, credentials } });
    opened.push({ [Symbol.asyncDispose]: () => store.close() });
    const heard: Signal[] = [];
    store.signals.subscribe((signal) => heard.push(signal));
    const hears = (signal: Signal) => expect.poll(() => heard).toContainEqual(signal);
    return { store, heard, hears, log: () => lines.join('') };
  }

  /** Signals that are sent through the database. */
  async function notifications(databaseUrl: string): Promise<readonly string[]> {
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    opened.push({ [Symbol.asyncDispose]: () => client.end() });
    const payloads: string[] = [];
    client.on('notification', ({ payload = '' }) => payloads.push(payload));
    await client.query('listen picket');
    return payloads;
  }

  it('reach the other processes of a database, not those of another, and bypass the database', async () => {
    await using nats = await startNats();
    const [databaseUrl, otherUrl] = [await migratedDatabase(), await migratedDatabase()];
    const one = await open(databaseUrl, `nats://${nats.host}`);
    const two = await open(databaseUrl, `nats://${nats.host}`);
    const [three, four] = [
      await open(otherUrl, `nats://${nats.host}`),
      await open(otherUrl, `nats://${nats.host}`),
    ];
    const throughDatabase = await notifications(databaseUrl);
    one.store.signals.send([tested('first'), { kind: 'alerts' }]);
    await two.hears(tested('first'));
    three.store.signals.send([tested('of another database')]);
    await four.hears(tested('of another database'));
    two.store.signals.send([tested('answer')]);
    await one.hears(tested('answer'));
    // Its own signals arrive once.
    expect(one.heard).toEqual([tested('first'), { kind: 'alerts' }, tested('answer')]);
    expect(two.heard).toEqual(one.heard);
    expect(four.heard).toEqual([tested('of another database')]);
    expect(throughDatabase).toEqual([]);
    expect([one.store.isNatsConnected(), one.log()]).toEqual([
      true,
      expect.stringContaining('come over NATS'),
    ]);
  });

  it('go through the database while NATS is unavailable, and every process polls again when it is back', async () => {
    await using nats = await startNats();
    const databaseUrl = await migratedDatabase();
    const throughDatabase = await notifications(databaseUrl);
    const one = await open(databaseUrl, `nats://127.0.0.1:1,nats://${nats.host}`);
    const two = await open(databaseUrl, `nats://${nats.host}`);
    for (const round of ['killed', 'killed again']) {
      await nats.kill();
      await until('both notice', () => !one.store.isNatsConnected() && !two.store.isNatsConnected());
      expect(one.log()).toContain('NATS is unavailable');
      one.store.signals.send([tested(`while ${round}`)]);
      await two.hears(tested(`while ${round}`));
      expect(throughDatabase.join()).toContain(`while ${round}`);
      const [before, beforeOfTwo] = [one.heard.length, two.heard.length];
      await nats.start();
      await until('both are back', () => one.store.isNatsConnected() && two.store.isNatsConnected());
      await expect.poll(() => one.heard.slice(before)).toContainEqual({ kind: 'look' });
      await expect.poll(() => two.heard.slice(beforeOfTwo)).toContainEqual({ kind: 'look' });
      one.store.signals.send([tested(`after ${round}`)]);
      await two.hears(tested(`after ${round}`));
      expect(throughDatabase.join()).not.toContain(`after ${round}`);
    }
  });

  it('go through the database when NATS hangs, and when it is unavailable at the start', async () => {
    await using nats = await startNats();
    const databaseUrl = await migratedDatabase();
    const one = await open(databaseUrl, `nats://${nats.host}`);
    process.kill(nats.pid(), 'SIGSTOP');
    const two = await open(databaseUrl, `nats://${nats.host}`);
    expect(two.store.isNatsConnected()).toBe(false);
    one.store.signals.send([tested('into the void')]);
    await two.hears(tested('into the void'));
    expect(one.log()).toContain('no answer within 2 s');
    process.kill(nats.pid(), 'SIGCONT');
    await until('both are back', () => one.store.isNatsConnected() && two.store.isNatsConnected());
  });

  it('are accepted only in the form that processes send', async () => {
    await using nats = await startNats();
    const databaseUrl = await migratedDatabase();
    const one = await open(databaseUrl, `nats://${nats.host}`);
    const { connect } = await import('@nats-io/transport-node');
    const stranger = await connect({ servers: nats.host });
    const seen: string[] = [];
    stranger.subscribe('picket.>', { callback: (_error, message) => void seen.push(message.subject) });
    await stranger.flush();
    one.store.signals.send([tested('to learn the subject')]);
    await until('the subject is known', () => seen.length > 0);
    const [subject = ''] = seen;
    expect(subject).toMatch(/^picket\.[0-9a-f]{16}\.signals$/);
    for (const message of [
      'no JSON',
      '[]',
      '{}',
      '{"origin":"x","signals":"all"}',
      '{"origin":"x","signals":[{"kind":"queued","locationId":"l","lane":"probe","checkType":"URL","count":-1}]}',
      `{"origin":"x","signals":[{"kind":"tested","testSessionId":"${'x'.repeat(300_000)}"}]}`,
      '{"origin":"x","signals":[{"kind":"of a later build"},{"kind":"alerts"}]}',
    ]) {
      stranger.publish(subject, message);
    }
    stranger.publish(subject, Uint8Array.of(0xff, 0xfe, 0));
    stranger.publish(subject, JSON.stringify({ origin: 'x', signals: [tested('last')] }));
    await one.hears(tested('last'));
    expect(one.heard).toEqual([tested('to learn the subject'), { kind: 'alerts' }, tested('last')]);
    await stranger.close();
  });

  it('use credentials of a file, and refuse those of a stranger', async () => {
    const user = createKeyedUser();
    await using nats = await startNats(user.configuration);
    const databaseUrl = await migratedDatabase();
    // As a setting is parsed: without surrounding whitespace.
    const one = await open(databaseUrl, `nats://${nats.host}`, user.credentials.trim());
    const two = await open(databaseUrl, `nats://${nats.host}`, user.credentials.trim());
    one.store.signals.send([tested('signed')]);
    await two.hears(tested('signed'));
    expect(isCredentials(user.credentials)).toBe(true);
    await expect(
      open(databaseUrl, `nats://${nats.host}`, createKeyedUser().credentials),
    ).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  it('need a user that NATS knows and that may publish and subscribe', async () => {
    const user = (rights: string) => `authorization: { user: ann, password: "p:w/d" ${rights} }`;
    await using nats = await startNats(user(''));
    const databaseUrl = await migratedDatabase();
    for (const credentials of ['', 'ann:wrong@', 'token@']) {
      const refused = open(databaseUrl, `nats://${credentials}${nats.host}`);
      await expect(refused).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringMatching(
          /^NATS_URL: 127\.0\.0\.1:\d+ refuses the credentials \(.*Authorization Violation.*\)\.$/i,
        ),
      });
      await expect(refused).rejects.not.toThrow(/wrong|token/);
    }
    const url = `nats://ann:${encodeURIComponent('p:w/d')}@${nats.host}`;
    const one = await open(databaseUrl, url);
    expect(one.store.isNatsConnected()).toBe(true);
    for (const rights of ['publish', 'subscribe']) {
      await nats.kill();
      await nats.start(
        `authorization: { users: [{ user: ann, password: "p:w/d", permissions: { ${rights}: "something.else" } }] }`,
      );
      await expect(open(databaseUrl, url)).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringMatching(/does not let this user publish and subscribe to "picket\..*"/),
      });
    }
    // The running one continues, and logs the reason.
    await until('it says so', () => one.log().includes('does not let this user'));
    expect(one.store.isNatsConnected()).toBe(false);
    await nats.kill();
    await nats.start(user(''));
    await until('it is back', () => one.store.isNatsConnected());
  });
});
