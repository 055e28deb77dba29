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
  /** Whether people may subscribe to status pages by themselves. */
  readonly takesSubscriptions: boolean;
  /** Of what has to be made; absent: there are none. */
  readonly limits: RateLimits | undefined;
}

export type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply };

/** What a page may be called; anything else is no page, and is not asked for in the database. */
const address = /^[a-z0-9][a-z0-9.-]{0,252}$/;

/** @throws AppError NOT_FOUND for what cannot be the address of a page. */
export function knownAddress(named: string, noun: string): string {
  const known = named.toLowerCase();
  if (!address.test(known)) throw new AppError('NOT_FOUND', `This address has no ${noun}.`);
  return known;
}

/** Whether readers are better served with what was so before: the database is away, or they are too many. */
export function isBetterOld(thrown: unknown): boolean {
  const error = asStoreError(toError(thrown));
  return !(error instanceof AppError) || error.statusCode >= 500 || error.code === 'RATE_LIMITED';
}

/** What a route of public pages answers, without HTTP in between. */
export async function callPublic(
  handlers: ReadonlyMap<string, AnyHandler>,
  operationId: string,
  call: Exchange & { readonly params: object; readonly query: object; readonly body?: unknown },
): Promise<unknown> {
  const handler = handlers.get(operationId);
  if (!handler) throw new Error(`no handler for ${operationId}`);
  return handler({ ...call, body: call.body, caller: null } as unknown as Call);
}
