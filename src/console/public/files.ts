import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { etagOf, isKnown } from '@picket/service/pages/answers/shared-answer.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';

const [gzipped, gunzipped] = [promisify(gzip), promisify(gunzip)];

/** A file for everybody, made once and sent many times. */
export interface PublicFile {
  readonly contentType: string;
  readonly content: Buffer;
  readonly etag: string;
}

export async function publicFile(contentType: string, text: string): Promise<PublicFile> {
  return { contentType, content: await gzipped(text, { level: 6 }), etag: etagOf(text) };
}

/** What is old already is not to be older in caches. */
export const staleFreshness = 'public, max-age=5';

/** Sends a file, or that the reader has it already. */
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
