import { deflateRaw, type InflateRaw, inflateRaw } from 'node:zlib';

/** Quick: what packs harder saves little on texts and costs every run. */
export const compressionLevel = 1;
/** Room behind the end, so that the end is seen without a second call for more. */
const slackBytes = 512;
const minChunkBytes = 16 * 1024;
const maxChunkBytes = 1024 * 1024;

/**
 * Unpacks bytes of a raw deflate stream on a thread of the pool, in one call.
 *
 * @param sizeBytes how long they are when they are unpacked; nothing beyond that is unpacked.
 * @returns the bytes, and how many of the packed ones were used: more may follow the end of the stream.
 * @throws when they are not packed that way, or are longer or shorter.
 */
export async function inflated(
  packed: Buffer,
  sizeBytes: number,
): Promise<{ readonly bytes: Buffer; readonly usedBytes: number }> {
  const options = { info: true, maxOutputLength: Math.max(1, sizeBytes), chunkSize: sizeBytes + slackBytes };
  const unpacked = await new Promise<{ readonly buffer: Buffer; readonly engine: InflateRaw }>(
    (resolve, reject) => {
      inflateRaw(packed, options, (error, result) => {
        if (error) reject(error);
        // With `info` the answer is not the buffer alone, which its type does not say.
        else resolve(result as unknown as { buffer: Buffer; engine: InflateRaw });
      });
    },
  );
  if (unpacked.buffer.length !== sizeBytes)
    throw new Error('the size of a member differs from its declaration');
  return { bytes: unpacked.buffer, usedBytes: unpacked.engine.bytesWritten };
}

/** Packs bytes on a thread of the pool. */
export async function deflated(bytes: Buffer): Promise<Buffer> {
  const chunkSize = Math.min(maxChunkBytes, Math.max(minChunkBytes, bytes.length >> 1));
  const options = { level: compressionLevel, chunkSize };
  return await new Promise((resolve, reject) => {
    deflateRaw(bytes, options, (error, packed) => (error ? reject(error) : resolve(packed)));
  });
}
