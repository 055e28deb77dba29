import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { type PicketProcess, startPicket } from '../../helpers/picket-process.ts';
import { startNats, whyNoNats } from '../../helpers/service/nats-server.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import { temporaryFolder, until } from '../../helpers/service/service.ts';
import { startServiceProcess } from '../../helpers/service/service-process.ts';
import { migratedDatabase } from '../../helpers/service/shared-database.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';

const key = 'bootstrap-key-of-the-tests';
const metricsToken = 'metrics-token-of-the-tests';
const missing = whyNoPostgres() ?? whyNoNats();

describe.skipIf(missing !== null)(`service processes with NATS${missing ? `: ${missing}` : ''}`, () => {
  const processes: PicketProcess[] = [];
  const folders: ReturnType<typeof temporaryFolder>[] = [];
  afterEach(async () => {
    await Promise.all(processes.splice(0).map((each) => each.kill('SIGKILL')));
    for (const folder of folders.splice(0)) folder.remove();
  });

  function newFolder(): string {
    const folder = temporaryFolder();
    folders.push(folder);
    return folder.path;
  }

  it('wake each other over TLS: a run queued at one is claimed by a poll that waits at another', async () => {
    const folder = newFolder();
    const authority = await createAuthority();
    const { key: privateKey, cert } = await authority.issue();
    const authorities = join(folder, 'authorities');
    mkdirSync(authorities);
    writeFileSync(join(authorities, 'ca.pem'), authority.cert);
    writeFileSync(join(folder, 'key.pem'), privateKey);
    writeFileSync(join(folder, 'cert.pem'), cert);
    const document = readFileSync(join(import.meta.dirname, '../../../docs/how-to/scale-out.md'), 'utf8');
    const users = /```conf\n(authorization [^`]*)```/.exec(document)?.[1] ?? '';
    await using nats = await startNats(`
      ${users.replace('PASSWORD', '"secret of the tests"')}
      tls: { cert_file: "${folder}/cert.pem", key_file: "${folder}/key.pem", timeout: 20 }`);
    const urlFile = join(folder, 'nats-url');
    writeFileSync(urlFile, `tls://picket:secret%20of%20the%20tests@${nats.host}\n`);
    const databaseUrl = await migratedDatabase();
    const environment = {
      BOOTSTRAP_API_KEY: key,
      METRICS_TOKEN: metricsToken,
      DATABASE_URL: databaseUrl,
      DATA_DIR: newFolder(),
      CA_CERTS_DIR: authorities,
      NATS_URL_FILE: urlFile,
    };
    const start = () => startServiceProcess(environment, (process) => processes.push(process));
    const [one, two] = [await start(), await start()];
    await using database = await listening(databaseUrl);
    const made = await one.call('POST', '/v1/private-locations', { name: 'lab', slugName: 'lab' });
    const poll = async () => {
      const claim = {
        agentId: 'agent',
        sessionId: randomUUID(),
        version: '8.0.0',
        platform: 'test',
        checkTypes: ['URL'],
        freeSlots: { probe: 1 },
        waitMs: 25_000,
      };
      const { body } = await two.call('POST', '/v1/agent/claims', claim, made.body.keys[0].rawKey);
      return body.runs.length as number;
    };
    const waiting = until('a poll at the other process has the run', async () => (await poll()) > 0);
    const check = await one.call('POST', '/v1/checks/url', {
      name: 'a check',
      frequency: 0,
      frequencyOffset: 10,
      privateLocations: ['lab'],
      request: { url: 'http://x.test' },
    });
    expect(check.status).toBe(201);
    await waiting;
    for (const { url, process } of [one, two]) {
      const metrics = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } });
      expect(await metrics.text()).toMatch(/^picket_nats_connected 1$/m);
      expect(process.output()).not.toContain('secret of the tests');
    }
    expect(database.heard.filter((payload) => payload.includes('queued'))).toEqual([]);
  });

  it.each([
    [
      'credentials that it refuses',
      'authorization: { user: picket, password: "right" }',
      'refuses the credentials',
    ],
    ['a file of credentials that is none', '', 'must be the content of a .creds file'],
  ])('report at the start the error in %s', async (_name, configuration, message) => {
    await using nats = await startNats(configuration);
    const file = join(newFolder(), 'picket.creds');
    writeFileSync(file, 'no credentials');
    const process = startPicket(['service'], {
      PORT: '0',
      HOST: '127.0.0.1',
      DATA_DIR: newFolder(),
      DATABASE_URL: await migratedDatabase(),
      NATS_URL: `nats://picket:wrong@${nats.host}`,
      ...(configuration === '' ? { NATS_CREDENTIALS_FILE: file } : {}),
    });
    processes.push(process);
    expect(await process.ended, process.output()).toMatchObject({ code: 2 });
    expect(process.output()).toMatch(/NATS_(URL|CREDENTIALS): /);
    expect(process.output()).toContain(message);
    expect(process.output()).not.toContain('wrong');
  });
});

/** Signals that are sent through the database. */
async function listening(
  databaseUrl: string,
): Promise<AsyncDisposable & { readonly heard: readonly string[] }> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const heard: string[] = [];
  client.on('notification', ({ payload = '' }) => heard.push(payload));
  await client.query('listen picket');
  return { heard, [Symbol.asyncDispose]: () => client.end() };
}
