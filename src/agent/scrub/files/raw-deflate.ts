import { deflateRaw, type InflateRaw, inflateRaw } from 'node:zlib';

/** Fast: higher levels save little on texts and cost every run. */
export const compressionLevel = 1;
/** Room after the end, so that the end is detected without a second call. */
const slackBytes = 512;
const minChunkBytes = 16 * 1024;
const maxChunkBytes = 1024 * 1024;

/**
 * Decompresses a raw deflate stream on a thread of the pool, in one call.
 *
 * @param sizeBytes decompressed size; decompression stops there.
 * @returns the bytes, and how many input bytes were used: more may follow the end of the stream.
 * @throws if the input is not raw deflate, or has another size.
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
        // With `info` the result is not only the buffer, which its type does not reflect.
        else resolve(result as unknown as { buffer: Buffer; engine: InflateRaw });
      });
    },
  );
  if (unpacked.buffer.length !== sizeBytes)
    throw new Error('the size of a member differs from its declaration');
  return { bytes: unpacked.buffer, usedBytes: unpacked.engine.bytesWritten };
}

/** Compresses bytes on a thread of the pool. */
export async function deflated(bytes: Buffer): Promise<Buffer> {
  const chunkSize = Math.min(maxChunkBytes, Math.max(minChunkBytes, bytes.length >> 1));
  const options = { level: compressionLevel, chunkSize };
  return await new Promise((resolve, reject) => {
    deflateRaw(bytes, options, (error, packed) => (error ? reject(error) : resolve(packed)));
  });
}
