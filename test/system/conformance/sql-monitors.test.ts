import { describe, expect, inject, it } from 'vitest';
import { runSql } from '../../../src/checks/sql/run.ts';
import { SqlSpec } from '../../../src/checks/sql/spec.ts';
import { runContext } from '../../helpers/run-context.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';

const reason = whyNoPostgres();

// Logins with passwords, TLS and changes need a server of their own: sql-logins.night.test.ts
describe.skipIf(reason !== null)(`an SQL monitor of PostgreSQL${reason ? ` (${reason})` : ''}`, () => {
  const run = async (request: object) => {
    const { hostname, port, username } = new URL(inject('sharedPostgresUrl') ?? '');
    const login = { hostname, port: Number(port), username, database: 'postgres', useSSL: false };
    const spec = SqlSpec.parse({ request: { ...login, ...request } });
    return await runSql(spec, runContext({ timeoutMs: 20_000 }));
  };

  it('runs the query, and says what it took', async () => {
    const { failure, detail } = await run({ query: 'select count(*), 7 as seven from pg_database' });
    expect(failure).toBeUndefined();
    expect(detail.response).toMatchObject({
      answer: { value: expect.any(Number), rowCount: 1, columns: ['count', 'seven'] },
      serverVersion: expect.stringMatching(/^\d+/),
    });
    expect(detail.response?.timingPhases.query).toBeGreaterThan(0);
  });

  it.each([
    ['an unknown database', { database: 'nowhere' }, '3D000', 'login'],
    ['a change', { query: 'create table changed (id int)' }, '25006', 'query'],
    ['two statements', { query: 'commit; create table changed (id int)' }, '42601', 'query'],
    ['a slow query', { query: 'select pg_sleep(10)', statementTimeoutMs: 100 }, '57014', 'query'],
  ])('fails for %s, and says which step', async (_what, request, sqlState, step) => {
    const { failure, detail } = await run(request);
    expect(failure).toMatchObject({ code: 'REQUEST_REFUSED', owner: 'target' });
    expect(detail.response?.refusal).toMatchObject({ step, sqlState });
  });
});
