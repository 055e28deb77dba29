import { toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { Tables } from '@picket/platform/store/tables.ts';
import { type Kysely, sql } from 'kysely';

/**
 * Turns off PostgreSQL's compilation of expressions for a session. It begins where the planner expects much work, but
 * the planner counts subqueries that are never executed: with 10,000 checks, the count of their states took 20 ms, and
 * its compilation 0.9 s, for each statement again. Servers without it have no such setting.
 */
export const withoutJit = `select set_config('jit', 'off', false) where current_setting('jit', true) = 'on'`;

/** Any number: two processes that change the settings of a role at once disturb each other. */
const turn = 7_350_263;

/**
 * Does the same behind a pooler, where settings of a session are lost with the next statement, and a parameter of the
 * connection is refused: as a setting of our role in our database, which new connections of the pooler begin with.
 */
export async function turnOffJitForRole(db: Kysely<Tables>, logger: Logger): Promise<void> {
  try {
    await sql`do $$ begin
      if current_setting('jit', true) = 'on' then
        perform pg_advisory_xact_lock(${sql.lit(turn)});
        execute format('alter role %I in database %I set jit = off', current_user, current_database());
      end if;
    end $$`.execute(db);
  } catch (thrown) {
    logger.warn(
      { reason: toError(thrown).message },
      'the database may compile queries, which makes pages slow: turn off its setting jit for the role of DATABASE_URL',
    );
  }
}
