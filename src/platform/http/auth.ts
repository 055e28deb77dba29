import type { Clock } from '@picket/lib/clock.ts';
import { AppError, toError } from '@picket/lib/errors.ts';
import { LruMap } from '@picket/lib/lru.ts';
import type { Route } from '@picket/protocol/http/route.ts';
import type { FastifyRequest } from 'fastify';
import type { AccountCaller, LocationCaller } from '../ids/callers.ts';
import type { KeyRole } from '../ids/keys.ts';
import { hashKey } from '../ids/keys.ts';
import { storageProblemOf } from '../store/engine/disk/storage-problem.ts';
import type { Store } from '../store/store.ts';

/** The caller: an account by its key, or the agents of a location by theirs. */
export type Caller =
  | { readonly kind: 'account'; readonly account: AccountCaller }
  | { readonly kind: 'location'; readonly location: LocationCaller }
  | { readonly kind: 'nobody' };

const writingRoles: readonly KeyRole[] = ['ADMIN', 'READ_WRITE'];
/** Roles that may call the routes that only run checks. */
const runningRoles: readonly KeyRole[] = [...writingRoles, 'READ_RUN'];
const longestKey = 512;

/** Whether a key may change an account's resources. */
export function mayWrite({ role }: Pick<AccountCaller, 'role'>): boolean {
  return writingRoles.includes(role);
}

/** Whether a key may run checks, and therefore see what runs them. */
export function mayRun({ role }: Pick<AccountCaller, 'role'>): boolean {
  return runningRoles.includes(role);
}

/**
 * Identifies the caller before any value of the request is validated.
 *
 * @throws AppError BAD_TOKEN, FOREIGN_ACCOUNT, READ_ONLY_KEY or ADMIN_ONLY.
 */
export async function authenticate(deps: AuthDeps, route: Route, request: FastifyRequest): Promise<Caller> {
  const isAnonymous = route.credential === 'optional' && request.headers.authorization === undefined;
  if (route.credential === 'none' || isAnonymous) return { kind: 'nobody' };
  const keyHash = hashKey(bearerKey(request.headers.authorization));
  if (route.credential === 'location') {
    const location = await deps.store.locations.findByKey(keyHash);
    if (!location) {
      await recordRefused(deps, keyHash, request);
      throw badToken();
    }
    return { kind: 'location', location };
  }
  const account = await accountOf(deps, keyHash, request);
  refuseRole(route, account);
  return { kind: 'account', account };
}

/**
 * Refuses an operation that the role of an account's key does not allow.
 *
 * @throws AppError READ_ONLY_KEY or ADMIN_ONLY.
 */
export function refuseRole(route: Route, { role }: Pick<AccountCaller, 'role'>): void {
  if (route.isAdmin && role !== 'ADMIN') {
    throw new AppError('ADMIN_ONLY', `This needs the role ADMIN; yours is ${role}.`);
  }
  const allowed = route.isRun ? runningRoles : writingRoles;
  if (route.method === 'GET' || route.isReadOnly || route.isOwn || allowed.includes(role)) return;
  throw new AppError('READ_ONLY_KEY', `This API key has the role ${role} and cannot change anything.`);
}

/** Refused agents knock every few seconds: each is recorded at most once in this time. */
const refusedEveryMs = 10_000;
const refusedAt = new WeakMap<Store, LruMap<string, number>>();

/** Remembers an agent with a revoked key, or with an API key, so that its owner sees it. */
async function recordRefused(
  { store, clock }: AuthDeps,
  keyHash: string,
  request: FastifyRequest,
): Promise<void> {
  const now = clock.wallMs();
  const agentId = shortHeader(request.headers['x-picket-agent']);
  const seen = refusedAt.get(store) ?? new LruMap<string, number>(10_000);
  refusedAt.set(store, seen);
  const key = `${keyHash} ${agentId} ${request.ip}`;
  const before = seen.get(key);
  if (before !== undefined && now >= before && now - before < refusedEveryMs) return;
  seen.set(key, now);
  try {
    const owner = await store.refusedAgents.ownerOf(keyHash);
    if (!owner) return;
    const [, version = ''] = /^picket-agent\/(\S+)/.exec(shortHeader(request.headers['user-agent'])) ?? [];
    await store.refusedAgents.record(owner, { agentId, address: request.ip, version }, now);
  } catch (thrown) {
    // The refusal does not depend on its record, for example on a full disk.
    if (storageProblemOf(toError(thrown)) === undefined) throw thrown;
  }
}

function shortHeader(value: string | readonly string[] | undefined): string {
  return String(value ?? '')
    .slice(0, 128)
    .replaceAll(/[^\x21-\x7e]+/g, ' ');
}

interface AuthDeps {
  readonly store: Store;
  readonly clock: Clock;
}

/** Headers with the id of the requested account; existing clients send the second one. */
export const accountHeaders = ['x-service-account', 'x-checkly-account'] as const;

/** Precision of a key's time of last use, so that not every request writes a row. */
const usedMs = 60_000;

/**
 * Finds the account of a request's key.
 *
 * @throws AppError BAD_TOKEN or FOREIGN_ACCOUNT.
 */
export async function findAccount(deps: AuthDeps, request: FastifyRequest): Promise<AccountCaller> {
  return accountOf(deps, hashKey(bearerKey(request.headers.authorization)), request);
}

async function accountOf(
  { store, clock }: AuthDeps,
  keyHash: string,
  request: FastifyRequest,
): Promise<AccountCaller> {
  const key = await store.accounts.findKey(keyHash);
  if (!key) throw badToken();
  for (const header of accountHeaders) {
    const wanted = request.headers[header];
    if (wanted === undefined || wanted === '' || String(wanted).toLowerCase() === key.account_id) continue;
    throw new AppError(
      'FOREIGN_ACCOUNT',
      `This API key has no access to the account in the ${header} header.`,
    );
  }
  const now = clock.wallMs();
  if (now - (key.last_used ?? 0) >= usedMs) {
    await store.accounts.recordUse(key.id, now).catch((thrown: unknown) => {
      // On a full disk a key still allows reading.
      if (storageProblemOf(toError(thrown)) === undefined) throw thrown;
    });
  }
  const { id, name } = key;
  return { accountId: key.account_id, role: key.role, actor: { kind: 'API_KEY', id, name } };
}

/** @throws AppError BAD_TOKEN when the header has no key. */
export function bearerKey(header: string | undefined): string {
  const match = /^Bearer +(\S+) *$/i.exec(header ?? '');
  const key = match?.[1];
  if (key === undefined || key.length > longestKey) throw badToken();
  return key;
}

function badToken(): AppError {
  return new AppError('BAD_TOKEN', 'Bad Token: send "Authorization: Bearer <API_KEY>" with an active key.');
}
