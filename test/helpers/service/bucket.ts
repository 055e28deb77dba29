import S3rver from 's3rver';
import type { ArtifactStore } from '../../../src/platform/artifact-store/artifact-store.ts';
import { S3Store } from '../../../src/platform/artifact-store/s3-store.ts';

/**
 * Opens a bucket on a local server, which ends with the store. The server stores bodies unchanged, so wrong framing
 * yields wrong bytes.
 */
export async function openBucket(directory: string): Promise<ArtifactStore> {
  const server = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory,
    configureBuckets: [{ name: 'evidence', configs: [] }],
  });
  const { port } = await server.run();
  const store = new S3Store({
    bucket: 'evidence',
    prefix: 'picket',
    endpoint: `http://127.0.0.1:${port}`,
    region: 'us-east-1',
    credentials: { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
  });
  const close = store.close.bind(store);
  return Object.assign(store, {
    close: async () => {
      await close();
      await server.close();
    },
  });
}
