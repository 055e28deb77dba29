import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  PostgresDialect,
  type PostgresDialectConfig,
  PostgresDriver,
  type TransactionSettings,
} from 'kysely';

/**
 * PostgreSQL behind a pooler in transaction mode: the next statement may go by another connection of the server, so
 * nothing can be set for a session. What each session would set at its start, each transaction sets for itself.
 */
export class PooledPostgresDialect extends PostgresDialect {
  readonly #config: PostgresDialectConfig;
  readonly #begin: string;

  /** @param settings of the server, for each transaction. */
  constructor(config: PostgresDialectConfig, settings: Readonly<Record<string, number>>) {
    super(config);
    this.#config = config;
    const set = Object.entries(settings).map(([name, value]) => `set local ${name} = ${value}`);
    this.#begin = ['begin', ...set].join('; ');
  }

  override createDriver(): Driver {
    return new PooledDriver(this.#config, this.#begin);
  }
}

class PooledDriver extends PostgresDriver {
  readonly #begin: string;

  constructor(config: PostgresDialectConfig, begin: string) {
    super(config);
    this.#begin = begin;
  }

  override async beginTransaction(
    connection: DatabaseConnection,
    settings: TransactionSettings,
  ): Promise<void> {
    if (settings.isolationLevel || settings.accessMode) {
      throw new Error('transactions with settings of their own are not used here');
    }
    // Without parameters it is one message, whatever it holds: no more ways there and back than `begin` alone.
    await connection.executeQuery(CompiledQuery.raw(this.#begin));
  }
}
