import { createHash } from 'node:crypto';
import type { CallRequest, Reply } from '@picket/platform/feature/exchange.ts';

interface Asked {
  readonly request: Pick<CallRequest, 'headers'>;
  readonly reply: Reply;
}

/** Cache policy for public content: fresh for ten seconds, and stale rather than missing if the service is away. */
export const freshness = 'public, max-age=10, stale-while-revalidate=30, stale-if-error=86400';

/** ETag of a text, weak because another text with the same meaning may have it. */
export function etagOf(text: string): string {
  return `W/"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;
}

/** Makes a response cacheable, and sends only a 304 if the client already has it. */
export async function share(to: Asked, etag: string): Promise<void> {
  to.reply.header('cache-control', freshness);
  await isKnown(to, etag);
}

/**
 * Sets the ETag of a response. Returns whether the client already has it: then a 304 was sent, and nothing else may be.
 */
export async function isKnown({ request, reply }: Asked, etag: string): Promise<boolean> {
  reply.header('etag', etag);
  const known = (request.headers['if-none-match'] ?? '').split(',').map((one) => one.trim());
  if (!known.includes(etag)) return false;
  await reply.code(304).send();
  return true;
}
