import type { FastifyRequest } from 'fastify';
import { AppError } from '../../lib/errors.ts';
import type { Route } from '../../protocol/http/route.ts';
import type { KeyRole } from '../ids/keys.ts';
import { hashKey } from '../ids/keys.ts';
import type { Store } from '../store.ts';

/** Who calls an account's route. */
export interface AccountCaller {
  readonly accountId: string;
  readonly role: KeyRole;
  /** The key it calls with, for rate limits. */
  readonly keyId: string;
}

/** The private location whose agents call. */
export interface LocationCaller {
  readonly id: string;
  readonly account_id: string;
  readonly name: string;
  readonly slug_name: string;
  readonly proxy_url: string | null;
  /** The first slot that was missed because the location had no agent; null while it has. */
  readonly no_agent_since: number | null;
  /** The key its agent calls with. */
  readonly key_id: string;
}

/** Who calls: an account by its key, or the agents of a location by theirs. */
export type Caller =
  | { readonly kind: 'account'; readonly account: AccountCaller }
  | { readonly kind: 'location'; readonly location: LocationCaller }
  | { readonly kind: 'nobody' };

const writingRoles: readonly KeyRole[] = ['ADMIN', 'READ_WRITE'];
/** Who may call the routes that only run checks. */
const runningRoles: readonly KeyRole[] = [...writingRoles, 'READ_RUN'];
const longestKey = 512;

/** Whether a key may change what an account has. */
export function mayWrite({ role }: Pick<AccountCaller, 'role'>): boolean {
  return writingRoles.includes(role);
}

/** Whether a key may run checks, and so see what runs them. */
export function mayRun({ role }: Pick<AccountCaller, 'role'>): boolean {
  return runningRoles.includes(role);
}

/**
 * Finds out who calls, before anything of the request is validated.
 *
 * @throws AppError BAD_TOKEN, FOREIGN_ACCOUNT or READ_ONLY_KEY.
 */
export async function authenticate(store: Store, route: Route, request: FastifyRequest): Promise<Caller> {
  const isAnonymous = route.credential === 'optional' && request.headers.authorization === undefined;
  if (route.credential === 'none' || isAnonymous) return { kind: 'nobody' };
  const keyHash = hashKey(bearerKey(request.headers.authorization));
  if (route.credential === 'location') {
    const location = await store.locations.findByKey(keyHash);
    if (!location) throw badToken();
    return { kind: 'location', location };
  }
  const account = await accountOf(store, keyHash, request);
  refuseRole(route, account);
  return { kind: 'account', account };
}

/**
 * Refuses an operation that the role of an account's key does not allow.
 *
 * @throws AppError READ_ONLY_KEY.
 */
export function refuseRole(route: Route, { role }: Pick<AccountCaller, 'role'>): void {
  const allowed = route.isRun ? runningRoles : writingRoles;
  if (route.method === 'GET' || route.isReadOnly || allowed.includes(role)) return;
  throw new AppError('READ_ONLY_KEY', `This API key has the role ${role} and cannot change anything.`);
}

/**
 * The account whose key a request carries.
 *
 * @throws AppError BAD_TOKEN or FOREIGN_ACCOUNT.
 */
export async function findAccount(store: Store, request: FastifyRequest): Promise<AccountCaller> {
  return accountOf(store, hashKey(bearerKey(request.headers.authorization)), request);
}

async function accountOf(store: Store, keyHash: string, request: FastifyRequest): Promise<AccountCaller> {
  const key = await store.accounts.findKey(keyHash);
  if (!key) throw badToken();
  const wanted = request.headers['x-service-account'];
  if (wanted !== undefined && wanted !== '' && String(wanted).toLowerCase() !== key.account_id) {
    throw new AppError(
      'FOREIGN_ACCOUNT',
      'This API key has no access to the account in the x-service-account header.',
    );
  }
  return { accountId: key.account_id, role: key.role, keyId: key.id };
}

/** @throws AppError BAD_TOKEN when there is none. */
export function bearerKey(header: string | undefined): string {
  const match = /^Bearer +(\S+) *$/i.exec(header ?? '');
  const key = match?.[1];
  if (key === undefined || key.length > longestKey) throw badToken();
  return key;
}

function badToken(): AppError {
  return new AppError('BAD_TOKEN', 'Bad Token: send "Authorization: Bearer <API_KEY>" with an active key.');
}
