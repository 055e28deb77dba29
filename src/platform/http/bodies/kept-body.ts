import type { KeptBody } from '@picket/protocol/http/route.ts';
import type { RequestPayload } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** See `Route.keptBodyBytes`. */
    readonly keptBodyBytes?: number;
  }
}

/** Resolves to the beginning of a body as soon as it has arrived; the rest is read and discarded. */
export async function keptBody(body: RequestPayload, maxBytes: number): Promise<KeptBody | undefined> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  await new Promise<void>((resolve, reject) => {
    body.on('data', (chunk: Buffer) => {
      if (sizeBytes <= maxBytes) chunks.push(chunk);
      sizeBytes += chunk.length;
      if (sizeBytes > maxBytes) resolve();
    });
    // A client that leaves ends the body without an end.
    body.once('end', resolve).once('close', resolve).once('error', reject);
  });
  if (sizeBytes === 0) return undefined;
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), isCut: sizeBytes > maxBytes };
}
