import { join } from 'node:path';
import { AppError } from '@picket/lib/errors.ts';
import type { ServiceConfig } from '../config/config.ts';
import { inDirectory } from '../store/engine/disk/directory-errors.ts';
import type { ArtifactStore } from './artifact-store.ts';
import { DirectoryStore } from './directory-store.ts';

/** Default region of Amazon's client; most other servers ignore it. */
const defaultRegion = 'us-east-1';

/** Opens the configured artifact store. Loads Amazon's client only if it is used. */
export async function openArtifactStore(config: ServiceConfig): Promise<ArtifactStore> {
  const bucket = /^s3:\/\/([^/]+)\/?(.*)$/.exec(config.ARTIFACT_STORE ?? '');
  if (!bucket) {
    const { ARTIFACT_STORE, DATA_DIR } = config;
    const path = ARTIFACT_STORE ?? join(DATA_DIR, 'artifacts');
    const variable = ARTIFACT_STORE === undefined ? 'DATA_DIR' : 'ARTIFACT_STORE';
    return inDirectory({ variable, path }, () => DirectoryStore.open(path));
  }
  if ((config.S3_ACCESS_KEY_ID === undefined) !== (config.S3_SECRET_ACCESS_KEY === undefined)) {
    throw new AppError(
      'CONFIG_INVALID',
      'S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY belong together: set both or neither.',
    );
  }
  const { S3Store } = await import('./s3-store.ts');
  const { S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey } = config;
  return new S3Store({
    bucket: bucket[1] ?? '',
    prefix: (bucket[2] ?? '').replace(/\/+$/, ''),
    endpoint: config.S3_ENDPOINT,
    region: config.S3_REGION ?? defaultRegion,
    credentials:
      accessKeyId !== undefined && secretAccessKey !== undefined
        ? { accessKeyId, secretAccessKey }
        : undefined,
  });
}
