import { createHash } from 'node:crypto';
import { createReadStream, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { AppError, toError } from '@picket/lib/errors.ts';
import { z } from 'zod';

const fileName = 'backup.json';

/** Describes a backup. Written last: a folder without it is not a complete backup. */
const Manifest = z.object({
  format: z.literal(1),
  createdAt: z.iso.datetime(),
  version: z.string(),
  store: z.enum(['sqlite', 'postgres']),
  /** Name of the database file in the folder. */
  file: z.enum(['picket.sqlite', 'postgres.dump']),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** Whether the folder also contains the files of runs. */
  hasArtifacts: z.boolean(),
});
export type Manifest = z.output<typeof Manifest>;

export function writeManifest(folder: string, manifest: Manifest): void {
  writeFileSync(join(folder, fileName), `${JSON.stringify(manifest, null, 2)}\n`, {
    mode: 0o600,
    flush: true,
  });
}

/**
 * Reads the manifest of a backup and verifies its database file.
 *
 * @throws AppError CONFIG_INVALID if the backup is incomplete or damaged.
 */
export async function readManifest(folder: string): Promise<Manifest> {
  let manifest: Manifest;
  try {
    manifest = Manifest.parse(JSON.parse(readFileSync(join(folder, fileName), 'utf8')));
  } catch (thrown) {
    throw new AppError(
      'CONFIG_INVALID',
      `${folder} is not a complete backup: ${fileName} cannot be read (${toError(thrown).message}).`,
      { cause: thrown },
    );
  }
  if ((await sha256Of(join(folder, manifest.file))) !== manifest.sha256) {
    throw new AppError('CONFIG_INVALID', `${manifest.file} in ${folder} differs from the backup.`);
  }
  return manifest;
}

export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
