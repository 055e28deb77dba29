import { describe, expect, it } from 'vitest';
import type { RunContext } from '../../../src/checks/contract/run-context.ts';
import { SqlDetail } from '../../../src/checks/sql/detail.ts';
import { runSql } from '../../../src/checks/sql/run.ts';
import { SqlSpec } from '../../../src/checks/sql/spec.ts';
import { summaryOf } from '../../../src/checks/sql/summary.ts';
import {
  type MysqlAnswer,
  type MysqlTargetOptions,
  startMysqlTarget,
} from '../../helpers/mysql/mysql-target.ts';
import {
  columnPacket,
  endPacket,
  errorPacket,
  okPacket,
  resultPackets,
} from '../../helpers/mysql/packets.ts';
import { runContext } from '../../helpers/run-context.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';

const authority = await createAuthority();
const tls = await authority.issue({ hosts: ['127.0.0.1'] });

async function run(port: number, request: object = {}, rest: object = {}, context: Partial<RunContext> = {}) {
  const login = { engine: 'MYSQL', hostname: '127.0.0.1', username: 'ada', password: 'right', useSSL: false };
  const spec = SqlSpec.parse({ ...rest, request: { ...login, port, ...request } });
  const outcome = await runSql(spec, runContext({ timeoutMs: 20_000, ...context }));
  expect(SqlDetail.parse(outcome.detail)).toEqual(outcome.detail);
  return outcome;
}

const inTls = { useSSL: true, skipSSL: true };

it('logs in over TLS with what the check has, and reads the answer', async () => {
  await using target = await startMysqlTarget({
    tls,
    answer: () => ({ rows: ['42', '43'], column: 'count(*)' }),
  });
  const { failure, detail, responseTimeMs, certificateExpiresAt } = await run(
    target.port,
    {
      ...inTls,
      database: 'shop',
      query: 'select {{WHAT}}',
    },
    {},
    { variables: { WHAT: 'answer' } },
  );
  expect(failure).toBeUndefined();
  expect(certificateExpiresAt).toBeGreaterThan(0);
  expect(target.logins).toMatchObject([
    { user: 'ada', database: 'shop', method: 'caching_sha2_password', characterSet: 45, isEncrypted: true },
  ]);
  expect(target.logins[0]?.program).toContain('picket');
  // Neither several statements at once nor files of this host.
  expect((target.logins[0]?.capabilities ?? 0) & (0x1_0000 | 0x80)).toBe(0);
  expect(target.statements).toEqual([
    'SET SESSION max_execution_time = 5000',
    'SET SESSION TRANSACTION READ ONLY',
    'START TRANSACTION READ ONLY',
    'select answer',
  ]);
  expect(detail.request).toMatchObject({ engine: 'MYSQL', database: 'shop' });
  expect(detail.response).toMatchObject({
    answer: { value: 42, rowCount: 2, truncated: false, columns: ['count(*)'] },
    refusal: null,
    serverVersion: '8.4.3',
  });
  const { total, ...parts } = detail.response?.timingPhases ?? { total: 0 };
  expect(Object.values(parts).reduce((sum, part) => sum + part, 0)).toBeCloseTo(total, 2);
  expect(responseTimeMs).toBe(total);
  expect(parts).toMatchObject({ tls: expect.any(Number), login: expect.any(Number) });
  expect(summaryOf(detail).phases?.map(({ name }) => name)).toContain('TLS handshake');
});

const everyMethod: readonly (readonly [string, MysqlTargetOptions, object, readonly string[]])[] = [
  ['mysql_native_password', { method: 'mysql_native_password' }, {}, []],
  ['mysql_native_password that the greeting names', { greets: 'mysql_native_password' }, {}, []],
  ['caching_sha2_password, known to the server', { isCached: true }, {}, []],
  ['caching_sha2_password, by the key of the server', { isCached: false }, {}, ['encrypted']],
  ['caching_sha2_password, new to the server, in TLS', { isCached: false, tls }, inTls, ['right\0']],
  ['sha256_password, by the key of the server', { method: 'sha256_password' }, {}, ['encrypted']],
  ['sha256_password in TLS', { method: 'sha256_password', tls }, inTls, ['right\0']],
  ['mysql_clear_password in TLS', { method: 'mysql_clear_password', tls }, inTls, ['right\0']],
  ['an empty password', { password: '' }, { password: '' }, []],
  [
    'an empty password and another method',
    { password: '', method: 'mysql_native_password' },
    { password: '' },
    [],
  ],
];

describe('a login', () => {
  it.each(everyMethod)('succeeds by %s', async (_, options, request, secrets) => {
    await using target = await startMysqlTarget(options);
    const { failure } = await run(target.port, request);
    expect(failure).toBeUndefined();
    expect(target.logins[0]?.secrets).toEqual(secrets);
  });

  it.each(everyMethod)('is refused for a wrong password: %s', async (_, options, request) => {
    await using target = await startMysqlTarget(options);
    const { failure, detail } = await run(target.port, { ...request, password: 'wrong' });
    expect(failure).toMatchObject({ code: 'REQUEST_REFUSED', owner: 'target' });
    expect(failure?.message).toMatch(/^The server refuses the login: Access denied .* \[1045, 28000\]$/);
    expect(detail.response?.refusal).toMatchObject({ step: 'login', errorCode: 1045, sqlState: '28000' });
  });

  it('never sends the password in plain text without TLS', async () => {
    for (const named of ['greets', 'method']) {
      await using target = await startMysqlTarget({
        [named]: 'mysql_clear_password',
        method: 'mysql_clear_password',
      });
      const { failure } = await run(target.port);
      expect(failure).toMatchObject({ code: 'REQUEST_REFUSED', message: expect.stringContaining('useSSL') });
      expect(target.logins[0]?.secrets).toEqual([]);
    }
  });

  it.each([
    ['a method that it does not have', [Buffer.from('\xfedialog\0salt\0', 'latin1')], 'REQUEST_REFUSED'],
    ['the method of MySQL 4.0', [Buffer.from([0xfe])], 'REQUEST_REFUSED'],
    [
      'a second method',
      [0, 1].map(() => Buffer.from('\xfemysql_native_password\0saltsaltsaltsaltsalt\0', 'latin1')),
      'RESPONSE_MALFORMED',
    ],
    [
      'a method without random bytes',
      [Buffer.from('\xfemysql_native_password\0', 'latin1')],
      'RESPONSE_MALFORMED',
    ],
    ['an answer that is none', [Buffer.from([7])], 'RESPONSE_MALFORMED'],
    ['an empty packet', [Buffer.alloc(0)], 'RESPONSE_MALFORMED'],
    ['more than the method has', [Buffer.from([1, 3]), Buffer.from([1, 3])], 'RESPONSE_MALFORMED'],
    ['an unknown answer of the method', [Buffer.from([1, 9])], 'RESPONSE_MALFORMED'],
  ])('ends at %s', async (_, loginAnswer, code) => {
    await using target = await startMysqlTarget({ loginAnswer });
    expect((await run(target.port)).failure).toMatchObject({ code, owner: 'target' });
  });

  it.each([
    ['that is none', 'no key'],
    [
      'of another kind',
      `-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n`,
    ],
  ])('ends at a key %s', async (_, publicKey) => {
    await using target = await startMysqlTarget({ isCached: false, publicKey });
    expect((await run(target.port)).failure).toMatchObject({ code: 'RESPONSE_MALFORMED' });
  });
});

describe('a greeting', () => {
  const tooMany = Buffer.from('\xff\x10\x04Too many connections', 'latin1');
  it.each([
    ['without TLS', {}],
    ['before TLS', inTls],
  ])('that is an error is an answer: %s', async (_, request) => {
    await using target = await startMysqlTarget({ greeting: tooMany });
    const { failure, detail } = await run(target.port, request);
    expect(failure).toMatchObject({ code: 'REQUEST_REFUSED', owner: 'target' });
    expect(detail.response?.refusal).toEqual({
      ...{ step: 'login', errorCode: 1040, sqlState: 'HY000', message: 'Too many connections' },
    });
  });

  it('without TLS ends a check that wants it, and nothing is sent', async () => {
    await using target = await startMysqlTarget();
    expect((await run(target.port, inTls)).failure).toMatchObject({ code: 'STARTTLS_REFUSED' });
    expect(target.logins).toEqual([]);
  });

  it.each([
    ['is of another protocol', Buffer.from('\x0bnot this version\0'.padEnd(60))],
    ['is of MySQL 4.0', Buffer.from('\x0a4.0.1\0\x01\0\0\0saltsalt\0\x2c\x20\x08\x02\0'.padEnd(46, '\0'))],
    ['is cut off', Buffer.from('\x0a8.4.3\0\x01\0')],
    ['is too long', Buffer.alloc(5000)],
  ])('that %s is malformed', async (_, greeting) => {
    await using target = await startMysqlTarget({ greeting });
    expect((await run(target.port)).failure).toMatchObject({ code: 'RESPONSE_MALFORMED', owner: 'target' });
  });
});

describe('an answer', () => {
  it.each<readonly [string, MysqlAnswer, unknown]>([
    ['an integer', { rows: ['7'], type: 3 }, 7],
    ['one that no double holds', { rows: ['9007199254740993'], type: 8 }, '9007199254740993'],
    ['a decimal', { rows: ['12.50'], type: 246 }, '12.50'],
    ['a text of digits', { rows: ['7'], type: 253 }, '7'],
    ['bits', { rows: [Buffer.from([1, 2])], type: 16 }, 258],
    ['bytes', { rows: [Buffer.from([0xff, 0])], type: 252 }, '0xff00'],
    ['NULL', { rows: [null], type: 3 }, null],
    ['no row', { rows: [] }, null],
    ['no rows at all', 'ok', null],
    ['a long text', { rows: ['x'.repeat(70_000)], type: 252 }, 'x'.repeat(1000)],
    [
      'the first of several results',
      {
        payloads: [
          ...resultPackets({ rows: ['1', '2'], status: 10 }),
          ...resultPackets({ rows: ['3'], status: 10 }),
          okPacket(),
        ],
      },
      1,
    ],
  ])('is read: %s', async (_, answer, expected) => {
    await using target = await startMysqlTarget({ answer: () => answer });
    const { failure, detail } = await run(target.port);
    expect(failure).toBeUndefined();
    expect(detail.response?.answer?.value).toEqual(
      typeof expected === 'string' && expected.length === 1000
        ? expect.stringContaining('x'.repeat(900))
        : expected,
    );
  });

  it.each<readonly [string, MysqlAnswer, string | undefined]>([
    ['more rows than it reads', { rows: Array.from({ length: 100_001 }, () => '1') }, undefined],
    [
      'results without end',
      {
        payloads: Array.from({ length: 60 }, () =>
          resultPackets({ rows: Array.from({ length: 2000 }, () => '1'), status: 10 }),
        ).flat(),
      },
      undefined,
    ],
    ['a value that is too large', { rows: ['x'.repeat(9 * 1024 * 1024)] }, 'RESPONSE_MALFORMED'],
    ['a packet in several parts', { bytes: Buffer.from([0xff, 0xff, 0xff, 1]) }, 'RESPONSE_MALFORMED'],
    ['a length that never arrives', { bytes: Buffer.from([0, 0, 0x90, 1]) }, 'RESPONSE_MALFORMED'],
    ['a packet with another number', { bytes: Buffer.from([1, 0, 0, 9, 0]) }, 'RESPONSE_MALFORMED'],
    ['a request for a file', { payloads: [Buffer.from('\xfb/etc/passwd', 'latin1')] }, 'RESPONSE_MALFORMED'],
    [
      'more columns than a table has',
      { payloads: [Buffer.from([0xfd, 0xff, 0xff, 0xff])] },
      'RESPONSE_MALFORMED',
    ],
    [
      'columns without an end',
      { payloads: [Buffer.from([1]), columnPacket('a', 3), columnPacket('b', 3)] },
      'RESPONSE_MALFORMED',
    ],
    [
      'a column that is cut off',
      { payloads: [Buffer.from([1]), Buffer.from([3, 100]), endPacket()] },
      'RESPONSE_MALFORMED',
    ],
    [
      'a value that is longer than its packet',
      { payloads: [Buffer.from([1]), columnPacket('a', 3), endPacket(), Buffer.from([200, 1])] },
      'RESPONSE_MALFORMED',
    ],
    ['an empty packet', { payloads: [Buffer.alloc(0)] }, 'RESPONSE_MALFORMED'],
    ['the end of the connection', 'hang-up', 'CONNECTION_RESET'],
  ])('is bounded: %s', async (_, answer, code) => {
    await using target = await startMysqlTarget({ answer: () => answer });
    const { failure, detail } = await run(target.port);
    expect(failure?.code).toBe(code);
    if (!code) expect(detail.response?.answer).toMatchObject({ truncated: true });
  });

  it('may come in any pieces', async () => {
    const bytes = Buffer.concat(
      resultPackets({ rows: ['5', '6'] }).map((payload, index) =>
        Buffer.concat([Buffer.from([payload.length, 0, 0, index + 1]), payload]),
      ),
    );
    for (const piece of [1, 3, 7]) {
      await using target = await startMysqlTarget({ answer: () => ({ pieces: bytes, sizeBytes: piece }) });
      const { detail } = await run(target.port);
      expect(detail.response?.answer).toMatchObject({ value: 5, rowCount: 2 });
    }
  });

  it('is an error of the server, with its codes', async () => {
    const error = { errorCode: 1146, sqlState: '42S02', message: "Table 'shop.x' doesn't exist" };
    await using target = await startMysqlTarget({ answer: () => error });
    const { failure, detail } = await run(target.port, { query: 'select * from x' });
    expect(failure?.message).toBe("The server refuses the query: Table 'shop.x' doesn't exist [1146, 42S02]");
    expect(detail.response?.refusal).toEqual({ step: 'query', ...error });
  });

  it('is an error after the first rows, too', async () => {
    const error = errorPacket({
      errorCode: 3024,
      sqlState: 'HY000',
      message: 'maximum statement execution time',
    });
    const payloads = [...resultPackets({ rows: ['1'] }).slice(0, -1), error];
    await using target = await startMysqlTarget({ answer: () => ({ payloads }) });
    expect((await run(target.port)).detail.response).toMatchObject({
      answer: null,
      refusal: { step: 'query', errorCode: 3024 },
    });
  });
});

it('cancels a query that the server does not cancel', async () => {
  await using target = await startMysqlTarget({ answer: () => 'silence' });
  const { failure } = await run(target.port, { statementTimeoutMs: 100 });
  expect(failure).toMatchObject({ code: 'RESPONSE_TIMEOUT', message: expect.stringContaining('100 ms') });
});

it('commits changes only if it may make some, and speaks to MariaDB as MariaDB', async () => {
  await using target = await startMysqlTarget({ version: '5.5.5-10.11.6-MariaDB-0+deb12u1' });
  const { detail } = await run(target.port, { readOnly: false, query: 'insert', statementTimeoutMs: 1500 });
  expect(target.statements).toEqual([
    'SET SESSION max_statement_time = 1.5',
    'START TRANSACTION',
    'insert',
    'COMMIT',
  ]);
  expect(detail.response?.serverVersion).toBe('10.11.6-MariaDB-0+deb12u1');
});

it('connects to the port of the engine if the check names none', async () => {
  const portOf = async (engine: string) => {
    const spec = SqlSpec.parse({ request: { engine, hostname: 'nothing.invalid', username: 'ada' } });
    expect(spec.request.port).toBeNull();
    return (await runSql(spec, runContext({}))).detail.request;
  };
  expect(await portOf('MYSQL')).toMatchObject({ port: 3306, database: '' });
  expect(await portOf('POSTGRESQL')).toMatchObject({ port: 5432, database: 'ada' });
});
