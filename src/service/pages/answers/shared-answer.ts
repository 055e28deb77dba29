import { createHash } from 'node:crypto';
import type { CallRequest, Reply } from '@picket/platform/feature/exchange.ts';

interface Asked {
  readonly request: Pick<CallRequest, 'headers'>;
  readonly reply: Reply;
}

/**
 * What caches may do with what everybody may see: it is new every ten seconds, and better old than not there when the
 * service is away.
 */
export const freshness = 'public, max-age=10, stale-while-revalidate=30, stale-if-error=86400';

/** The name of what a text says: another text that means the same may have it. */
export function etagOf(text: string): string {
  return `W/"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;
}

/** Lets caches keep an answer that was made, and sends only that it is the same to who has it already. */
export async function share(to: Asked, etag: string): Promise<void> {
  to.reply.header('cache-control', freshness);
  await isKnown(to, etag);
}

/** Names an answer. Whether its reader has it already: then a 304 was sent, and nothing more is to be. */
export async function isKnown({ request, reply }: Asked, etag: string): Promise<boolean> {
  reply.header('etag', etag);
  const known = (request.headers['if-none-match'] ?? '').split(',').map((one) => one.trim());
  if (!known.includes(etag)) return false;
  await reply.code(304).send();
  return true;
}
