import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@picket/lib/clock.ts';
import { AppError } from '@picket/lib/errors.ts';
import { createLogger } from '@picket/lib/log.ts';
import { readServiceConfig, type ServiceConfig } from '@picket/platform/config/config.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { openConfiguredStore } from '@picket/server/service.ts';
import { type AuditedAction, record } from '@picket/service/audit/record.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface OutputOptions {
  readonly json?: boolean;
}

/** Records an action at the command line in the audit log, with the user's name on this machine. */
export async function recordCommand(store: Store, deed: Omit<AuditedAction, 'actor'>): Promise<void> {
  await record(store, systemClock, { ...deed, actor: { kind: 'COMMAND', id: null, name: nameHere() } });
}

function nameHere(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run as a user without a name.
    return `user ${process.getuid?.() ?? 'without a name'}`;
  }
}

/** Formats rows as lines, each column as wide as its widest text. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  return rows.map((row) =>
    row
      .map((text, index) => text.padEnd(Math.max(...rows.map((other) => other[index]?.length ?? 0))))
      .join('  ')
      .trimEnd(),
  );
}

/** Opens the configured store for one command. */
export async function withStore(
  environment: Environment,
  work: (store: Store, config: ServiceConfig) => Promise<void>,
): Promise<void> {
  process.umask(0o077);
  const config = readServiceConfig(environment);
  requireDatabase(config);
  const store = await openConfiguredStore(config, createLogger('picket', 'error'));
  try {
    await work(store, config);
  } finally {
    await store.close();
  }
}

/** Prints values as one JSON object, or one per line. */
export function print(values: Readonly<Record<string, string>>, options: OutputOptions): void {
  if (options.json) {
    console.log(JSON.stringify(values));
    return;
  }
  const width = Math.max(...Object.keys(values).map((name) => name.length));
  for (const [name, value] of Object.entries(values)) console.log(`${name.padEnd(width)}  ${value}`);
}

/**
 * Requires an existing database: these commands do not create one.
 *
 * @throws AppError CONFIG_INVALID
 */
function requireDatabase({ DATABASE_URL, DATA_DIR }: Pick<ServiceConfig, 'DATABASE_URL' | 'DATA_DIR'>): void {
  const path = join(DATA_DIR, 'picket.sqlite');
  if (DATABASE_URL !== undefined || existsSync(path)) return;
  throw new AppError(
    'CONFIG_INVALID',
    `DATA_DIR: there is no database ${path}. Set DATA_DIR, or DATABASE_URL, to what the service uses, and start the service once first.`,
  );
}
