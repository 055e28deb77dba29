import { expect, it } from 'vitest';
import type { RunContext } from '../../../src/checks/contract/run-context.ts';
import { SqlDetail } from '../../../src/checks/sql/detail.ts';
import { runSql } from '../../../src/checks/sql/run.ts';
import { SqlSpec } from '../../../src/checks/sql/spec.ts';
import { summaryOf } from '../../../src/checks/sql/summary.ts';
import { runContext } from '../../helpers/run-context.ts';
import { type PostgresAnswer, startPostgresTarget } from '../../helpers/targets/postgres-target.ts';

async function run(port: number, request: object = {}, rest: object = {}, context: Partial<RunContext> = {}) {
  const spec = SqlSpec.parse({
    ...rest,
    request: { hostname: '127.0.0.1', port, username: 'ada', password: 'right', useSSL: false, ...request },
  });
  const outcome = await runSql(spec, runContext(context));
  expect(SqlDetail.parse(outcome.detail)).toEqual(outcome.detail);
  return outcome;
}

it('an SQL monitor logs in with what the check has, and nothing else of its host', async () => {
  await using target = await startPostgresTarget(() => ({ rows: ['42'] }));
  const { failure, detail, responseTimeMs } = await run(
    target.port,
    { username: '{{USER}}', password: '{{PASS}}', query: 'select {{WHAT}}' },
    {},
    { variables: { USER: 'bob', PASS: 'right', WHAT: 'answer' } },
  );
  expect(failure).toBeUndefined();
  expect(target.logins).toEqual([
    {
      user: 'bob',
      database: 'bob',
      application_name: 'picket',
      client_encoding: 'UTF8',
      password: 'right',
    },
  ]);
  expect(target.statements).toEqual([
    'BEGIN READ ONLY; SET LOCAL statement_timeout = 5000; SHOW server_version',
    'select answer',
  ]);
  expect(detail.response).toMatchObject({
    answer: { value: 42, rowCount: 1, truncated: false, columns: ['value'] },
    refusal: null,
    serverVersion: '17.2',
  });
  const { total, ...parts } = detail.response?.timingPhases ?? { total: 0 };
  expect(total).toBeCloseTo(
    Object.values(parts).reduce((sum, part) => sum + part, 0),
    2,
  );
  expect(responseTimeMs).toBe(total);
  expect(summaryOf(detail).phases?.map(({ name }) => name)).toContain('Login');
});

it('an SQL monitor without a password sends an empty one', async () => {
  await using target = await startPostgresTarget(() => ({ rows: [] }), '');
  const { failure, detail } = await run(target.port, { password: '' });
  expect(failure).toBeUndefined();
  expect(target.logins[0]?.['password']).toBe('');
  expect(detail.response?.answer).toMatchObject({ value: null, rowCount: 0 });
});

it.each([
  [{ rows: ['12.50'], typeId: 1700 }, '12.50'],
  [{ rows: ['9007199254740993'], typeId: 20 }, '9007199254740993'],
  [{ rows: ['7'], typeId: 23 }, 7],
  [{ rows: ['7'], typeId: 25 }, '7'],
  [{ rows: ['t'], typeId: 16 }, true],
  [{ rows: [null], typeId: 23 }, null],
])('an SQL monitor reads the value of %j', async (answer, expected) => {
  await using target = await startPostgresTarget(() => answer);
  expect((await run(target.port)).detail.response?.answer?.value).toBe(expected);
});

it('an SQL monitor commits changes only if it may make some', async () => {
  await using target = await startPostgresTarget(() => ({ rows: ['1'] }));
  await run(target.port, { readOnly: false });
  expect(target.statements).toEqual([
    'BEGIN; SET LOCAL statement_timeout = 5000; SHOW server_version',
    'select 1',
    'COMMIT',
  ]);
});

it.each([
  ['more rows than it reads', { rows: Array.from({ length: 100_001 }, () => '1') }, undefined],
  ['a value that is too large', { rows: ['x'.repeat(9 * 1024 * 1024)] }, 'RESPONSE_MALFORMED'],
  ['messages that are none', { bytes: Buffer.from('?\0\0\0\x08text') }, 'RESPONSE_MALFORMED'],
])('an SQL monitor bounds %s', async (_what, answer, code) => {
  await using target = await startPostgresTarget(() => answer as PostgresAnswer);
  const { failure, detail } = await run(target.port);
  expect(failure?.code).toBe(code);
  if (!code) expect(detail.response?.answer).toMatchObject({ rowCount: 100_000, truncated: true });
});

it('an SQL monitor that expects a refusal passes with one', async () => {
  await using target = await startPostgresTarget(() => ({ rows: ['1'] }));
  const { failure, detail } = await run(target.port, { password: 'wrong' }, { shouldFail: true });
  expect(failure).toBeUndefined();
  expect(detail.response?.refusal).toMatchObject({ step: 'login', sqlState: '28P01' });
});
