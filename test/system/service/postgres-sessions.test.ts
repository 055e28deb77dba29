import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { createLogger } from '../../../src/lib/log.ts';
import {
  connectPostgres,
  type PostgresOptions,
} from '../../../src/platform/store/engine/connect-postgres.ts';
import { turnOffJitForRole } from '../../../src/platform/store/engine/postgres/without-jit.ts';
import { startPooler, whyNoPooler } from '../../helpers/service/pgbouncer.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import { emptyDatabase } from '../../helpers/service/shared-database.ts';

const missing = whyNoPostgres() ?? whyNoPooler();

describe.skipIf(missing !== null)(`sessions of PostgreSQL${missing ? `: ${missing}` : ''}`, () => {
  const open = (options: Omit<PostgresOptions, 'onPoolError'>) => {
    const { db } = connectPostgres({ ...options, onPoolError: () => undefined });
    const jit = async () => {
      const { rows } = await sql<{ jit: string }>`select current_setting('jit') as jit`.execute(db);
      return rows[0]?.jit;
    };
    return { db, jit, [Symbol.asyncDispose]: () => db.destroy() };
  };

  it('compile no queries, nor do those of a pooler in transaction mode', async () => {
    const directUrl = await emptyDatabase();
    await using direct = open({ databaseUrl: directUrl });
    expect(await direct.jit()).toBe('off');
    await using first = await startPooler({ databaseUrl: directUrl, serverConnections: 1 });
    await using opening = open({ databaseUrl: first.url, directUrl });
    expect(await opening.jit()).toBe('on');
    const logger = createLogger('test', 'silent');
    await Promise.all([turnOffJitForRole(opening.db, logger), turnOffJitForRole(direct.db, logger)]);
    await using second = await startPooler({ databaseUrl: directUrl, serverConnections: 1 });
    await using later = open({ databaseUrl: second.url, directUrl });
    expect(await later.jit()).toBe('off');
  });
});
