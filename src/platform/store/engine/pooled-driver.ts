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
 * PostgreSQL behind a pooler in transaction mode: the next statement may use another server connection, so session
 * settings do not work. Each transaction applies the settings that a session would otherwise apply at its start.
 */
export class PooledPostgresDialect extends PostgresDialect {
  readonly #config: PostgresDialectConfig;
  readonly #begin: string;

  /** @param settings of the server, applied in each transaction. */
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
    // Without parameters it is one message with any content: no more round trips than `begin` alone.
    await connection.executeQuery(CompiledQuery.raw(this.#begin));
  }
}
