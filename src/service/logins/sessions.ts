import { createHmac, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import type { Clock } from '@picket/lib/clock.ts';
import type { Actor } from '@picket/platform/ids/callers.ts';
import { hashKey, type KeyRole } from '@picket/platform/ids/keys.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { join } from '../members/members.ts';
import type { InvitationRow, PersonRow } from '../members/tables.ts';
import type { LoginSessionRow } from './tables.ts';

/** The user of a page. */
export interface Viewer {
  readonly accountId: string;
  readonly role: KeyRole;
  /** The member, or the key they logged in with. */
  readonly actor: Actor;
  readonly sessionId: string;
  /** Token that each of their forms must carry; its text differs on every page, but all are valid. */
  readonly csrfToken: string;
}

/**
 * Browser login sessions.
 *
 * A user enters an API key, opens a login link created with one, or logs in as a member: by password or single sign-on.
 * From then on the browser holds a random token in a cookie, and the database a row with the hash of the token, so that
 * read access to the database does not allow logging in. A session has the current permissions of its key or member,
 * and ends with them, and when a member's role is reduced. It also ends after a week without use, after a configured
 * maximum lifetime, or when it is deleted. A role given only by groups at a provider counts in sessions begun there. A
 * link is a row of the same kind that lives for ten minutes; using it deletes it and creates a session with another
 * token.
 *
 * CSRF tokens are derived from the session's token and a random nonce by a keyed hash: they need no storage, reveal
 * nothing about the token, and differ on every page, so that compression does not leak them.
 */

const idleMs = 7 * 86_400_000;
const defaultMaxMs = 30 * 86_400_000;
const linkMs = 10 * 60_000;
/** Resolution of the time of last use, so that a row is not written for every page. */
const seenMs = 60_000;

export interface NewSession {
  readonly token: string;
  /** When it ends regardless of use: until then the browser keeps the token. */
  readonly ends: number;
  readonly accountId: string;
  readonly actor: Actor;
}

/** Origin of a session. */
export type Origin = Pick<LoginSessionRow, 'address' | 'browser'>;
const unknownOrigin: Origin = { address: null, browser: null };

/** Owner of a session. */
type Owner = Pick<LoginSessionRow, 'account_id' | 'key_id' | 'person_id' | 'by_single_sign_on'>;

export class Sessions {
  readonly #store: Store;
  readonly #clock: Clock;
  /** Maximum lifetime of a session, regardless of use. */
  readonly #maxMs: number;

  constructor(store: Store, clock: Clock, maxMs = defaultMaxMs) {
    this.#store = store;
    this.#clock = clock;
    this.#maxMs = maxMs;
  }

  /** Logs in with an API key: null if the key does not exist. */
  async open(rawKey: string, origin = unknownOrigin): Promise<NewSession | null> {
    return this.#beginWithKey('session', rawKey, origin);
  }

  /** Logs in as a member of an account: by single sign-on, or by password. */
  async openAs(
    person: PersonRow,
    accountId: string,
    by: Origin & { readonly isBySingleSignOn?: boolean },
  ): Promise<NewSession> {
    const { isBySingleSignOn = false, ...origin } = by;
    const owner = {
      account_id: accountId,
      key_id: null,
      person_id: person.id,
      by_single_sign_on: isBySingleSignOn ? 1 : 0,
    } as const;
    return this.#begin('session', owner, { origin, name: person.name ?? person.email });
  }

  /** Creates a token with which a user whom single sign-on has authenticated may accept an invitation. */
  async offer(person: PersonRow, { id, account_id }: InvitationRow): Promise<string> {
    const owner = { account_id, key_id: null, person_id: person.id, by_single_sign_on: 1 } as const;
    const by = { now: this.#clock.wallMs(), origin: unknownOrigin, name: person.email };
    const { session, row } = this.#newSession('invitation', owner, by);
    await this.#store.transaction(async ({ logins }) => {
      await logins.delete(account_id, id);
      await logins.insert({ ...row, id });
    });
    return session.token;
  }

  /** Accepts an offered invitation: null if it was accepted, withdrawn, or offered too long ago. */
  async redeemOffer(token: string): Promise<{ person: PersonRow; accountId: string } | null> {
    const now = this.#clock.wallMs();
    return this.#store.transaction(async (repositories) => {
      const { logins, members } = repositories;
      const row = await logins.take('invitation', hashKey(token), now);
      const invitation = row && (await members.invitation(row.account_id, row.id));
      const person = row?.person_id && (await members.person(row.person_id));
      if (!invitation || !person || invitation.expires <= now) return null;
      if (!(await members.redeemInvitation(invitation.id))) return null;
      await join(repositories, invitation, person.id, now);
      return { person, accountId: invitation.account_id };
    });
  }

  /** Creates a login link with an API key: null if the key does not exist. */
  async makeLink(rawKey: string): Promise<NewSession | null> {
    return this.#beginWithKey('link', rawKey, unknownOrigin);
  }

  /** Uses a login link: null if it was used, has expired, or never existed. */
  async redeem(linkToken: string, origin = unknownOrigin): Promise<NewSession | null> {
    const now = this.#clock.wallMs();
    return this.#store.transaction(async ({ logins }) => {
      const link = await logins.find('link', hashKey(linkToken), now);
      if (!link || !(await logins.delete(link.account_id, link.id))) return null;
      const { session, row } = this.#newSession('session', link, { now, origin, name: link.name });
      await logins.insert(row);
      return session;
    });
  }

  /** The user that a token belongs to; null if no session has it. */
  async find(token: string): Promise<Viewer | null> {
    const now = this.#clock.wallMs();
    const row = await this.#store.logins.find('session', hashKey(token), now);
    if (!row) return null;
    const ends = row.created + this.#maxMs;
    if (now >= ends) {
      // Created when sessions could last longer.
      await this.#store.logins.delete(row.account_id, row.id);
      return null;
    }
    if (now - row.last_seen > seenMs) {
      await this.#store.logins.extend(row.id, now, Math.min(now + idleMs, ends));
    }
    return {
      accountId: row.account_id,
      role: row.role,
      actor: actorOf(row, row.name),
      sessionId: row.id,
      csrfToken: csrfToken(token, randomBytes(12).toString('base64url')),
    };
  }

  async close({ accountId, sessionId }: Viewer): Promise<void> {
    await this.#store.logins.delete(accountId, sessionId);
  }

  async #beginWithKey(
    kind: LoginSessionRow['kind'],
    rawKey: string,
    origin: Origin,
  ): Promise<NewSession | null> {
    const key = await this.#store.accounts.findKey(hashKey(rawKey));
    if (!key) return null;
    const owner = {
      account_id: key.account_id,
      key_id: key.id,
      person_id: null,
      by_single_sign_on: 0,
    } as const;
    return this.#begin(kind, owner, { origin, name: key.name });
  }

  async #begin(
    kind: LoginSessionRow['kind'],
    owner: Owner,
    by: { readonly origin: Origin; readonly name: string },
  ): Promise<NewSession> {
    const now = this.#clock.wallMs();
    const { session, row } = this.#newSession(kind, owner, { ...by, now });
    await this.#store.logins.deleteExpired(now);
    await this.#store.logins.insert(row);
    return session;
  }

  #newSession(
    kind: LoginSessionRow['kind'],
    of: Owner,
    by: { readonly now: number; readonly origin: Origin; readonly name: string },
  ): { session: NewSession; row: LoginSessionRow } {
    const { now, origin, name } = by;
    const token = randomBytes(32).toString('base64url');
    const expires = now + (kind === 'session' ? Math.min(idleMs, this.#maxMs) : linkMs);
    const { account_id, key_id, person_id, by_single_sign_on } = of;
    const { address, browser } = origin;
    return {
      session: { token, ends: now + this.#maxMs, accountId: account_id, actor: actorOf(of, name) },
      row: {
        id: randomUUID(),
        kind,
        token_hash: hashKey(token),
        account_id,
        key_id,
        person_id,
        by_single_sign_on,
        address,
        browser: browser?.slice(0, 300).toWellFormed() ?? null,
        created: now,
        last_seen: now,
        expires,
      },
    };
  }
}

/** The member or API key that a session belongs to. */
export function actorOf(owner: Pick<Owner, 'key_id' | 'person_id'>, name: string): Actor {
  const { key_id: keyId, person_id: personId } = owner;
  if (personId !== null) return { kind: 'MEMBER', id: personId, name };
  if (keyId !== null) return { kind: 'API_KEY', id: keyId, name };
  throw new Error('a session has no user');
}

/** Whether a form carries a CSRF token of the session; takes constant time. */
export function isCsrfToken(sessionToken: string, given: string): boolean {
  const [nonce = ''] = given.split('.');
  const [wanted, offered] = [Buffer.from(csrfToken(sessionToken, nonce)), Buffer.from(given)];
  return wanted.length === offered.length && timingSafeEqual(wanted, offered);
}

function csrfToken(sessionToken: string, nonce: string): string {
  return `${nonce}.${createHmac('sha256', sessionToken).update(`csrf ${nonce}`).digest('base64url')}`;
}
