import type { Clock } from '@picket/lib/clock.ts';
import { AppError, toError } from '@picket/lib/errors.ts';
import type { AnyHandler, Call } from '@picket/platform/feature/handler.ts';
import type { RateLimits } from '@picket/platform/http/limits.ts';
import { asStoreError } from '@picket/platform/store/engine/dialect.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Assets } from '../assets.ts';

export interface PublicPagesDeps {
  readonly assets: Assets;
  readonly clock: Clock;
  readonly handlers: ReadonlyMap<string, AnyHandler>;
  readonly publicUrl?: string | undefined;
  /** Whether readers may subscribe to status pages themselves. */
  readonly takesSubscriptions: boolean;
  /** Limits on pages to be rendered; absent: no limits. */
  readonly limits: RateLimits | undefined;
}

export type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply };

/** Format of page addresses; others are not looked up in the database. */
const address = /^[a-z0-9][a-z0-9.-]{0,252}$/;

/** @throws AppError NOT_FOUND for a malformed page address. */
export function knownAddress(named: string, noun: string): string {
  const known = named.toLowerCase();
  if (!address.test(known)) throw new AppError('NOT_FOUND', `This address has no ${noun}.`);
  return known;
}

/** Whether an outdated page is better than the error: the database is unavailable, or there are too many requests. */
export function isBetterOld(thrown: unknown): boolean {
  const error = asStoreError(toError(thrown));
  return !(error instanceof AppError) || error.statusCode >= 500 || error.code === 'RATE_LIMITED';
}

/** Calls the handler of a public route without HTTP. */
export async function callPublic(
  handlers: ReadonlyMap<string, AnyHandler>,
  operationId: string,
  call: Exchange & { readonly params: object; readonly query: object; readonly body?: unknown },
): Promise<unknown> {
  const handler = handlers.get(operationId);
  if (!handler) throw new Error(`no handler for ${operationId}`);
  return handler({ ...call, body: call.body, caller: null } as unknown as Call);
}
