import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

const [gzipped, gunzipped] = [promisify(gzip), promisify(gunzip)];

/** A file for everybody, made once and sent many times. */
export interface PublicFile {
  readonly contentType: string;
  readonly content: Buffer;
  readonly etag: string;
}

export async function publicFile(contentType: string, text: string): Promise<PublicFile> {
  const hash = createHash('sha256').update(text).digest('base64url').slice(0, 22);
  return { contentType, content: await gzipped(text, { level: 6 }), etag: `W/"${hash}"` };
}

/**
 * What caches may do with it: it is new every ten seconds, and better old than not there when the service is
 * away.
 */
export const freshness = 'public, max-age=10, stale-while-revalidate=30, stale-if-error=86400';
/** What is old already is not to be older in caches. */
export const staleFreshness = 'public, max-age=5';

/** Sends a file, or that the reader has it already. */
export async function sendFile(
  { contentType, content, etag }: PublicFile,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  reply.headers({ etag, vary: 'accept-encoding' });
  const known = (request.headers['if-none-match'] ?? '').split(',').map((one) => one.trim());
  if (known.includes(etag)) return reply.code(304).send();
  reply.type(contentType);
  if (/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) {
    return reply.header('content-encoding', 'gzip').send(content);
  }
  return reply.send(await gunzipped(content));
}
