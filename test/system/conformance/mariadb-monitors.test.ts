import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runSql } from '../../../src/checks/sql/run.ts';
import { SqlSpec } from '../../../src/checks/sql/spec.ts';
import { type MariaDb, startMariaDb, whyNoMariaDb } from '../../helpers/mysql/mariadb.ts';
import { runContext } from '../../helpers/run-context.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';

const reason = whyNoMariaDb();

describe.skipIf(reason !== null)(`an SQL monitor of MariaDB${reason ? ` (${reason})` : ''}`, () => {
  let server: MariaDb;

  beforeAll(async () => {
    server = await startMariaDb({
      tls: await (await createAuthority()).issue({ hosts: ['localhost'] }),
      statements: [
        'create database shop;',
        'create table shop.orders (id int, name varchar(20) character set utf8mb4, paid bit(1), photo blob);',
        "insert into shop.orders values (1, convert(x'4ac3a4676572' using utf8mb4), 1, x'ff00'), (2, null, 0, null);",
        "create user ada@'%' identified by 'lovelace';",
        'grant all on shop.* to ada;',
        "create user safe@'%' identified by 'Pass wörd' require ssl;",
        'grant select on shop.* to safe;',
        "create user local@'%' identified via unix_socket;",
        "create user none@'%';",
        "create procedure shop.twice() sql security invoker begin select 'first'; select 'second'; end;",
        'create procedure shop.sneaky() sql security invoker begin rollback; start transaction; delete from orders; commit; end;',
      ],
    });
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
  });

  const run = async (request: object = {}, rest: object = {}) => {
    const login = { username: 'ada', password: 'lovelace', database: 'shop', skipSSL: true };
    const spec = SqlSpec.parse({
      ...rest,
      request: { engine: 'MYSQL', hostname: '127.0.0.1', port: server.port, ...login, ...request },
    });
    return await runSql(spec, runContext({ timeoutMs: 20_000 }));
  };
  const plain = { useSSL: false, skipSSL: false };

  it.each([
    ['over TLS', {}],
    ['without TLS', plain],
    ['as a user who must use TLS', { username: 'safe', password: 'Pass wörd' }],
    ['without a password', { username: 'none', password: '', database: '' }],
  ])('logs in %s, and reads the answer', async (_, request) => {
    const { failure, detail } = await run({ query: 'select 2 as count, 7 as seven', ...request });
    expect(failure).toBeUndefined();
    expect(detail.response).toMatchObject({
      answer: { value: 2, rowCount: 1, columns: ['count', 'seven'] },
      serverVersion: expect.stringMatching(/^1\d\.\d+\.\d+-MariaDB/),
    });
    const { tls, login, query } = detail.response?.timingPhases ?? { tls: 0, login: 0, query: 0 };
    expect([tls > 0, login > 0, query > 0]).toEqual([!('useSSL' in request), true, true]);
    expect(detail.response?.certificate === null).toBe('useSSL' in request);
  });

  it.each([
    ['select count(*) from orders', 2],
    ['select name from orders order by id', 'Jäger'],
    ['select name from orders order by id desc', null],
    ['select paid from orders order by id', 1],
    ['select photo from orders order by id', '0xff00'],
    ['select 12.50', '12.50'],
    ['select 9007199254740993', '9007199254740993'],
    ["select repeat('x', 70000) = repeat('x', 70000)", 1],
    ["show status like 'Uptime'", 'Uptime'],
    ['call twice()', 'first'],
    ['do 1', null],
    ['select id from orders where id > 7', null],
  ])('reads the value of %s', async (query, expected) => {
    const { failure, detail } = await run({ query });
    expect(failure).toBeUndefined();
    expect(detail.response?.answer?.value).toBe(expected);
  });

  it.each([
    ['a wrong password', { password: 'wrong' }, 1045, '28000', 'login'],
    ['an unknown database', { database: 'nowhere' }, 1044, '42000', 'login'],
    [
      'no TLS where it must be',
      { ...plain, username: 'safe', password: 'Pass wörd' },
      1045,
      '28000',
      'login',
    ],
    ['a login method that it does not have', { username: 'local' }, 1698, '28000', 'login'],
    ['an unknown table', { query: 'select * from nothing' }, 1146, '42S02', 'query'],
    ['a change in a read-only run', { query: 'delete from orders' }, 1792, '25006', 'query'],
    ['a new table in a read-only run', { query: 'create table x (id int)' }, 1792, '25006', 'query'],
    ['two statements', { query: 'commit; delete from orders' }, 1064, '42000', 'query'],
    [
      'a block that begins a transaction of its own',
      { query: 'begin not atomic commit; delete from orders; end' },
      1792,
      '25006',
      'query',
    ],
    ['a procedure that does so', { query: 'call sneaky()' }, 1792, '25006', 'query'],
    ['a slow query', { query: 'select sleep(10)', statementTimeoutMs: 100 }, 1969, '70100', 'query'],
    [
      'a file of this host',
      { query: "load data local infile '/etc/passwd' into table orders" },
      4166,
      'HY000',
      'query',
    ],
  ])('fails for %s, and says which step', async (_what, request, errorCode, sqlState, step) => {
    const { failure, detail } = await run(request);
    expect(detail.response?.refusal).toMatchObject({ step, errorCode, sqlState });
    expect(failure).toMatchObject({ code: 'REQUEST_REFUSED', owner: 'target' });
    expect((await run({ query: 'select count(*) from orders' })).detail.response?.answer?.value).toBe(2);
  });

  it('fails for a certificate that is not trusted', async () => {
    expect((await run({ skipSSL: false })).failure?.code).toBe('TLS_CERTIFICATE_INVALID');
  });

  it('makes changes where the check allows it', async () => {
    const query = "insert into orders values (3, 'new', 1, null)";
    expect((await run({ query, readOnly: false })).failure).toBeUndefined();
    expect((await run({ query: 'select count(*) from orders' })).detail.response?.answer?.value).toBe(3);
    expect(
      (await run({ query: 'delete from orders where id = 3', readOnly: false })).failure,
    ).toBeUndefined();
  });
});
