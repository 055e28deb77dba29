import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { etagOf, isKnown } from '@picket/service/pages/answers/shared-answer.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';

const [gzipped, gunzipped] = [promisify(gzip), promisify(gunzip)];

/** A public file, rendered once and sent many times. */
export interface PublicFile {
  readonly contentType: string;
  readonly content: Buffer;
  readonly etag: string;
}

export async function publicFile(contentType: string, text: string): Promise<PublicFile> {
  return { contentType, content: await gzipped(text, { level: 6 }), etag: etagOf(text) };
}

/** Caches must not make an outdated file even older. */
export const staleFreshness = 'public, max-age=5';

/** Sends a file, or 304 if the reader's copy is current. */
export async function sendFile(
  { contentType, content, etag }: PublicFile,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  reply.header('vary', 'accept-encoding');
  if (await isKnown({ request, reply }, etag)) return reply;
  reply.type(contentType);
  if (/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) {
    return reply.header('content-encoding', 'gzip').send(content);
  }
  return reply.send(await gunzipped(content));
}
