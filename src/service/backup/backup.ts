import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '@picket/lib/errors.ts';
import { packageVersion } from '@picket/lib/version.ts';
import type { ServiceConfig } from '@picket/platform/config/config.ts';
import { lockDataDir } from '@picket/platform/store/engine/disk/data-dir.ts';
import { readManifest, sha256Of, writeManifest } from './manifest.ts';
import { dumpPostgres, restorePostgres } from './postgres-tools.ts';
import { copyDatabase, databaseFiles, databaseName, putDatabase, stageDatabase } from './sqlite-files.ts';

export interface BackupOptions {
  readonly config: ServiceConfig;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly folder: string;
  readonly now: number;
}

/** Folder of artifacts in a backup, and in the data folder. */
const artifactsName = 'artifacts';

/**
 * Backs up the database, as of one instant, into a new folder while services run; then the files of runs, if they are
 * stored in a folder. Files that arrive in between have no result in the backup and do no harm.
 *
 * @throws AppError CONFIG_INVALID if there is nothing to back up, or the folder is not empty.
 */
export async function backUp(
  options: BackupOptions & { readonly withArtifacts: boolean },
): Promise<{ readonly hasArtifacts: boolean }> {
  const { config, environment, folder, now } = options;
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new AppError('CONFIG_INVALID', `${folder} is not empty. Back up into a new folder.`);
  }
  const isPostgres = config.DATABASE_URL !== undefined;
  const database = join(config.DATA_DIR, databaseName);
  if (!isPostgres && !existsSync(database)) {
    throw new AppError('CONFIG_INVALID', `DATA_DIR: there is no database in ${config.DATA_DIR}.`);
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = isPostgres ? 'postgres.dump' : databaseName;
  if (config.DATABASE_URL === undefined) copyDatabase(database, join(folder, file));
  else await dumpPostgres({ url: sessionUrl(config, config.DATABASE_URL), environment }, join(folder, file));
  const artifacts = artifactFolder(config);
  const hasArtifacts = options.withArtifacts && artifacts !== undefined && existsSync(artifacts);
  if (hasArtifacts) await cp(artifacts, join(folder, artifactsName), { recursive: true });
  writeManifest(folder, {
    format: 1,
    createdAt: new Date(now).toISOString(),
    version: packageVersion(),
    store: isPostgres ? 'postgres' : 'sqlite',
    file,
    sha256: await sha256Of(join(folder, file)),
    hasArtifacts,
  });
  return { hasArtifacts };
}

/**
 * Restores a backup to the location of the data in the configuration. No service may be running. Existing data is
 * replaced only on request; on SQLite it is moved aside together with its write-ahead log, never mixed with the backup.
 *
 * @param open opens the restored store as the service would: it upgrades the schema, and fails if the key of its
 *   secrets is missing.
 * @returns where the old database is, if there was one.
 * @throws AppError CONFIG_INVALID with the problem; nothing was changed in that case.
 */
export async function restore(
  options: BackupOptions & {
    readonly replace: boolean;
    readonly open: (path: string) => Promise<{ close(): Promise<void> }>;
  },
): Promise<{ readonly movedTo: string | undefined }> {
  const { config, environment, folder, replace, open, now } = options;
  const manifest = await readManifest(folder);
  const store = config.DATABASE_URL === undefined ? 'sqlite' : 'postgres';
  if (manifest.store !== store) {
    throw new AppError(
      'CONFIG_INVALID',
      `The backup is one of ${manifest.store}, and the configuration names ${store} (DATABASE_URL).`,
    );
  }
  let movedTo: string | undefined;
  if (config.DATABASE_URL !== undefined) {
    const url = sessionUrl(config, config.DATABASE_URL);
    await restorePostgres({ url, environment }, join(folder, manifest.file), replace);
    await (await open('')).close();
  } else {
    const unlock = lockDataDir(config.DATA_DIR);
    const staged = join(config.DATA_DIR, 'restoring.sqlite');
    try {
      const present = databaseFiles(config.DATA_DIR);
      if (present.length > 0 && !replace) {
        throw new AppError(
          'CONFIG_INVALID',
          `DATA_DIR: there is a database in ${config.DATA_DIR} (${present.join(', ')}). Add --replace to move it aside.`,
        );
      }
      stageDatabase(join(folder, manifest.file), staged);
      await (await open(staged)).close();
      movedTo = putDatabase(staged, config.DATA_DIR, now);
    } finally {
      for (const end of ['', '-wal', '-shm']) rmSync(staged + end, { force: true });
      unlock();
    }
  }
  const artifacts = artifactFolder(config);
  if (manifest.hasArtifacts && artifacts !== undefined) {
    await cp(join(folder, artifactsName), artifacts, { recursive: true });
  }
  return { movedTo };
}

/** The PostgreSQL tools need a session, which a pooler may not keep. */
function sessionUrl({ DATABASE_DIRECT_URL: direct }: ServiceConfig, databaseUrl: string): string {
  return direct ?? databaseUrl;
}

/** Folder of complete files of an artifact store; undefined for a bucket. */
function artifactFolder(config: ServiceConfig): string | undefined {
  if (config.ARTIFACT_STORE?.startsWith('s3://')) return undefined;
  return join(config.ARTIFACT_STORE ?? join(config.DATA_DIR, 'artifacts'), 'objects');
}
