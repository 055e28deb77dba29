import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runSql } from '../../../src/checks/sql/run.ts';
import { SqlSpec } from '../../../src/checks/sql/spec.ts';
import { runContext } from '../../helpers/run-context.ts';
import {
  type PostgresServer,
  startPostgres,
  unprivilegedIds,
  whyNoPostgres,
} from '../../helpers/service/postgres.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';

const reason = whyNoPostgres();

describe.skipIf(reason !== null)(`an SQL monitor of PostgreSQL${reason ? ` (${reason})` : ''}`, () => {
  let server: PostgresServer;
  let folder: string;
  let port: number;
  const login = { username: 'ada', password: 'lovelace', database: '' };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'picket-sql-'));
    const ids = unprivilegedIds();
    const { cert, key } = await (await createAuthority()).issue({ hosts: ['localhost'] });
    const file = (name: string, text: string) => {
      const path = join(folder, name);
      writeFileSync(path, text, { mode: 0o600 });
      if (ids) chownSync(path, ids.uid, ids.gid);
      return path;
    };
    if (ids) chownSync(folder, ids.uid, ids.gid);
    server = await startPostgres({
      settings: {
        ssl: 'on',
        ssl_cert_file: file('cert.pem', cert),
        ssl_key_file: file('key.pem', key),
        hba_file: file(
          'hba.conf',
          'host all picket 127.0.0.1/32 trust\nhost all ada 127.0.0.1/32 scram-sha-256\nhost all old 127.0.0.1/32 md5\n',
        ),
      },
    });
    const url = await server.createDatabase();
    port = Number(new URL(url).port);
    login.database = new URL(url).pathname.slice(1);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query("create role ada login password 'lovelace'");
    await client.query("set password_encryption = 'md5'; create role old login password 'plain'");
    await client.query('create table orders (id int); insert into orders values (1), (2)');
    await client.query('grant all on orders to ada');
    await client.end();
  });
  afterAll(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const run = async (request: object = {}, rest: object = {}) => {
    const spec = SqlSpec.parse({
      ...rest,
      request: { hostname: '127.0.0.1', port, skipSSL: true, ...login, ...request },
    });
    return await runSql(spec, runContext({ timeoutMs: 20_000 }));
  };

  it('logs in by SCRAM over TLS, and reads the answer', async () => {
    const { failure, detail, certificateExpiresAt } = await run({
      query: 'select count(*), 7 as seven from orders',
    });
    expect(failure).toBeUndefined();
    expect(detail.response).toMatchObject({
      answer: { value: 2, rowCount: 1, columns: ['count', 'seven'] },
      serverVersion: expect.stringMatching(/^\d+/),
    });
    expect(detail.response?.timingPhases.tls).toBeGreaterThan(0);
    expect(certificateExpiresAt).toBeGreaterThan(Date.now());
  });

  it('logs in by MD5, and without TLS', async () => {
    const { failure, detail } = await run({
      useSSL: false,
      skipSSL: false,
      username: 'old',
      password: 'plain',
    });
    expect(failure).toBeUndefined();
    expect(detail.response).toMatchObject({ certificate: null, answer: { value: 1 } });
  });

  it.each([
    ['a wrong password', { password: 'wrong' }, 'REQUEST_REFUSED', '28P01', 'login'],
    ['an unknown database', { database: 'nowhere' }, 'REQUEST_REFUSED', '3D000', 'login'],
    ['a change in a read-only run', { query: 'delete from orders' }, 'REQUEST_REFUSED', '25006', 'query'],
    ['two statements', { query: 'commit; delete from orders' }, 'REQUEST_REFUSED', '42601', 'query'],
    [
      'a slow query',
      { query: 'select pg_sleep(10)', statementTimeoutMs: 100 },
      'REQUEST_REFUSED',
      '57014',
      'query',
    ],
  ])('fails for %s, and says which step', async (_what, request, code, sqlState, step) => {
    const { failure, detail } = await run(request);
    expect(failure).toMatchObject({ code, owner: 'target' });
    expect(detail.response?.refusal).toMatchObject({ step, sqlState });
    expect((await run({ query: 'select count(*) from orders' })).detail.response?.answer?.value).toBe(2);
  });

  it('fails for a certificate that is not trusted', async () => {
    expect((await run({ skipSSL: false })).failure?.code).toBe('TLS_CERTIFICATE_INVALID');
  });

  it('makes changes where the check allows it', async () => {
    const { failure } = await run({ query: 'insert into orders values (3) returning id', readOnly: false });
    expect(failure).toBeUndefined();
    expect(
      (await run({ query: 'delete from orders where id = 3 returning id', readOnly: false })).detail.response
        ?.answer?.value,
    ).toBe(3);
  });
});
