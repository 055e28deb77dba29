import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import type { PicketProcess } from '../../helpers/picket-process.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import { until } from '../../helpers/service/service.ts';
import { type ServiceProcess, startServiceProcess } from '../../helpers/service/service-process.ts';
import { migratedDatabase } from '../../helpers/service/shared-database.ts';

const noPostgres = whyNoPostgres();
const apiKey = 'key-for-idempotent-processes';
const started: PicketProcess[] = [];
const clients: pg.Client[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((each) => each.kill('SIGKILL')));
  await Promise.all(clients.splice(0).map((client) => client.end()));
});

interface Answer {
  readonly status: number;
  readonly replayed: string | null;
  readonly retryAfter: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
  readonly body: any;
}

async function post(service: ServiceProcess, path: string, body: unknown, key: string): Promise<Answer> {
  const response = await fetch(service.url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      'idempotency-key': key,
    },
    body: JSON.stringify(body),
  });
  return {
    status: response.status,
    replayed: response.headers.get('idempotent-replayed'),
    retryAfter: response.headers.get('retry-after'),
    body: await response.json(),
  };
}

const snippet = (name: string) => ({ name, script: '// x' });
const make = (service: ServiceProcess, name: string, key: string) =>
  post(service, '/v1/snippets', snippet(name), key);

async function open() {
  const databaseUrl = await migratedDatabase();
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  clients.push(client);
  const start = () =>
    startServiceProcess(
      {
        ...{ DATABASE_URL: databaseUrl, BOOTSTRAP_API_KEY: apiKey, PAGES: 'off' },
        RATE_LIMIT_PER_MINUTE: '0',
      },
      (process) => started.push(process),
    );
  const count = async (table: string, name: string): Promise<number> => {
    const { rows } = await client.query(`select count(*)::integer as n from ${table} where name = $1`, [
      name,
    ]);
    return rows[0].n;
  };
  return { client, start, count };
}

/** Any number; its holder stops requests between their commit and their response. */
const gate = 4711;
/** The audit log is completed after the commit and before the response. */
const stopBeforeAnswers = `
  create function stop() returns trigger language plpgsql as $$
    begin perform pg_advisory_xact_lock(${gate}); return new; end $$;
  create trigger stop before update on audit_log for each row execute function stop()`;

describe.skipIf(noPostgres !== null)(
  `an idempotency key of several processes on one database${noPostgres ? `: ${noPostgres}` : ''}`,
  () => {
    it('creates one object, whichever process receives it, at the same time, later and after a restart', async () => {
      const { start, count } = await open();
      const [one, other] = [await start(), await start()];
      for (let round = 0; round < 10; round += 1) {
        const [key, name] = [randomUUID(), `at once ${round}`];
        const answers = await Promise.all(
          Array.from({ length: 10 }, (_, index) => make(index % 2 === 0 ? one : other, name, key)),
        );
        const done = answers.filter(({ status }) => status === 201);
        expect(done.filter(({ replayed }) => replayed === null)).toHaveLength(1);
        for (const { status, retryAfter, body } of answers) {
          if (status === 201) expect(body).toEqual(done[0]?.body);
          else expect([status, body.code, retryAfter]).toEqual([409, 'IDEMPOTENCY_KEY_IN_USE', '1']);
        }
        expect(await count('snippets', name)).toBe(1);
      }
      const key = randomUUID();
      const first = await make(one, 'restarted', key);
      await Promise.all([one, other].map(({ process }) => process.kill('SIGTERM')));
      const next = await start();
      expect(await make(next, 'restarted', key)).toMatchObject({
        ...{ status: 201, replayed: 'true', body: first.body },
      });
      expect(await count('snippets', 'restarted')).toBe(1);
    }, 180_000);

    it('is refused when its process is killed between commit and response', async () => {
      const { client, start, count } = await open();
      const service = await start();
      await client.query(stopBeforeAnswers);
      await client.query(`select pg_advisory_lock(${gate})`);
      const key = randomUUID();
      const lost = make(service, 'killed', key).catch((thrown: unknown) => thrown);
      await until('it is committed', async () => (await count('snippets', 'killed')) === 1);
      await service.process.kill('SIGKILL');
      expect(await lost).toBeInstanceOf(Error);
      await client.query(`select pg_advisory_unlock(${gate})`);
      const next = await start();
      const again = await make(next, 'killed', key);
      expect([again.status, again.body.code]).toEqual([409, 'IDEMPOTENCY_KEY_IN_USE']);
      // After a minute the request of the dead process counts as over.
      await client.query('update stored_answers set created = created - 120000');
      const later = await make(next, 'killed', key);
      expect(later).toMatchObject({
        status: 409,
        retryAfter: null,
        body: { message: expect.stringContaining('its outcome is unknown') },
      });
      expect(await count('snippets', 'killed')).toBe(1);
    }, 180_000);

    it('is kept when a request fails after its commit, and free again when it failed before', async () => {
      const { client, start, count } = await open();
      const service = await start();
      const made = await post(service, '/v1/status-pages/services', { name: 'Shop' }, randomUUID());
      const incident = {
        ...{ name: 'broken', severity: 'MAJOR', services: [{ id: made.body.id }] },
        incidentUpdates: [{ description: 'x', status: 'INVESTIGATING', notifySubscribers: false }],
      };
      const report = (key: string) => post(service, '/v1/status-pages/incidents', incident, key);
      // The commit renames the table that the response is read from.
      await client.query(`
        create function spoil() returns trigger language plpgsql as $$
          begin alter table incident_updates rename to spoilt; return null; end $$;
        create constraint trigger spoil after insert on incidents initially deferred
          for each row execute function spoil()`);
      const key = randomUUID();
      expect((await report(key)).status).toBe(500);
      await client.query('alter table spoilt rename to incident_updates; drop trigger spoil on incidents');
      expect(await count('incidents', 'broken')).toBe(1);
      const again = await report(key);
      expect([again.status, again.body.message]).toEqual([
        409,
        expect.stringContaining('its outcome is unknown'),
      ]);
      expect(await count('incidents', 'broken')).toBe(1);
      // The commit itself is refused.
      await client.query(`
        create function refuse() returns trigger language plpgsql as $$
          begin raise exception 'refused'; end $$;
        create constraint trigger refuse after insert on incidents initially deferred
          for each row execute function refuse()`);
      const free = randomUUID();
      expect((await report(free)).status).toBe(500);
      await client.query('drop trigger refuse on incidents');
      expect((await report(free)).status).toBe(201);
      expect(await count('incidents', 'broken')).toBe(2);
    }, 180_000);

    it('is kept when the connection breaks at the commit', async () => {
      const { client, start } = await open();
      const service = await start();
      await client.query(`
        create function stop() returns trigger language plpgsql as $$
          begin perform pg_advisory_xact_lock(${gate}); return null; end $$;
        create constraint trigger stop after insert on incidents initially deferred
          for each row execute function stop()`);
      const made = await post(service, '/v1/status-pages/services', { name: 'Shop' }, randomUUID());
      await client.query(`select pg_advisory_lock(${gate})`);
      const key = randomUUID();
      const incident = {
        ...{ name: 'cut', severity: 'MAJOR', services: [{ id: made.body.id }] },
        incidentUpdates: [{ description: 'x', status: 'INVESTIGATING', notifySubscribers: false }],
      };
      const report = () => post(service, '/v1/status-pages/incidents', incident, key);
      const cut = report();
      const waiting = `select pid from pg_locks where locktype = 'advisory' and not granted`;
      await until('it waits in its commit', async () => (await client.query(waiting)).rowCount === 1);
      await client.query(
        `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and not granted`,
      );
      expect((await cut).status).toBe(503);
      const again = await report();
      expect([again.status, again.body.message]).toEqual([
        409,
        expect.stringContaining('its outcome is unknown'),
      ]);
    }, 180_000);
  },
);
