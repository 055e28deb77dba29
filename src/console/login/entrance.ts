import type { Clock } from '@picket/lib/clock.ts';
import { AppError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import { callerNetwork } from '@picket/platform/http/limits.ts';
import type { SharedLimits } from '@picket/platform/http/shared-limits/shared-limits.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { record } from '@picket/service/audit/record.ts';
import type { NewSession, Origin, Sessions } from '@picket/service/logins/sessions.ts';
import type { Mailing } from '@picket/service/members/mails.ts';
import type { PersonRow } from '@picket/service/members/tables.ts';
import type { ServiceMetrics } from '@picket/service/metrics/metrics.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { notAllowed } from '../error-page.ts';
import type { View } from '../page.ts';
import type { Replies } from '../replies.ts';
import { isFromOwnPage } from '../requests/addresses.ts';
import { isSecure, sessionCookieName, setCookie } from '../requests/cookie.ts';
import { type LoginView, loginMain } from './page.ts';

export interface EntranceDeps extends Mailing {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<ServiceMetrics, 'countLogin'>;
  readonly sessions: Sessions;
  readonly replies: Replies;
  readonly limits: SharedLimits;
  /** Name of the single sign-on provider, if one is configured. */
  readonly singleSignOn?: string | undefined;
}

/** Attempts of one address: a person mistypes a few times, a guesser needs many. */
const ofAddress = { operationId: 'login', rateLimit: { requests: 10, windowSeconds: 60 } };
/** Attempts for one mail address from one network address. */
const ofNameHere = { operationId: 'login-name-here', rateLimit: { requests: 20, windowSeconds: 900 } };
/** Attempts for one mail address from all unfamiliar network addresses together. */
const ofName = { operationId: 'login-name', rateLimit: { requests: 60, windowSeconds: 900 } };
/** Mails with password links to one mail address. */
const ofResets = { operationId: 'login-resets', rateLimit: { requests: 3, windowSeconds: 3_600 } };
/** Number of audit entries per account that are searched for familiar addresses. */
const rememberedDeeds = 200;

export type LoginMethod = 'key' | 'link' | 'password' | 'single sign-on' | 'invitation' | 'reset';

/** Shared parts of all login methods: limits, the session cookie, and audit records. */
export class Entrance {
  readonly deps: EntranceDeps;

  constructor(deps: EntranceDeps) {
    this.deps = deps;
  }

  /**
   * Charges one attempt.
   *
   * @throws AppError RATE_LIMITED
   */
  async spend(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    await this.deps.limits.spend(ofAddress, request, reply);
  }

  /**
   * Charges one attempt for a mail address. Attempts of strangers must not lock its owner out: strangers share a
   * separate limit, which does not apply to addresses that the person has logged in from.
   *
   * @throws AppError RATE_LIMITED
   */
  async spendFor(email: string, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { limits } = this.deps;
    await this.spend(request, reply);
    const name = `name ${email.slice(0, 254)}`;
    await limits.spendOf(ofNameHere, `${name} from ${callerNetwork(request.ip)}`, reply);
    if (!(await this.#hasComeFrom(email, request.ip))) await limits.spendOf(ofName, name, reply);
  }

  /** Whether another password mail may be sent to a mail address: strangers can request it, too. */
  async mayMailReset(email: string, reply: FastifyReply): Promise<boolean> {
    try {
      await this.deps.limits.spendOf(ofResets, `name ${email.slice(0, 254)}`, reply);
      return true;
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.code === 'RATE_LIMITED') return false;
      throw thrown;
    }
  }

  async #hasComeFrom(email: string, address: string): Promise<boolean> {
    const { store } = this.deps;
    const network = callerNetwork(address);
    const person = await store.members.personByEmail(email);
    for (const { id: accountId } of person ? await store.members.accountsOf(person.id) : []) {
      const deeds = await store.audit.list({ accountId, actorId: person?.id }, rememberedDeeds);
      if (deeds.some((deed) => deed.address && callerNetwork(deed.address) === network)) return true;
    }
    return false;
  }

  /**
   * Returns the form of a visitor who is not logged in.
   *
   * @throws AppError when it was sent from another site.
   */
  formOf(request: FastifyRequest): URLSearchParams {
    if (!isFromOwnPage(request)) throw notAllowed('Logins are accepted only from the pages of this service.');
    return request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
  }

  /** Begins a session in the requesting browser; ends its previous one. */
  async begin(
    session: NewSession,
    way: LoginMethod,
    { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  ): Promise<void> {
    const { sessions, replies, clock, publicUrl, store, metrics } = this.deps;
    const old = await replies.viewerOf(request);
    if (old) await sessions.close(old);
    const secure = isSecure(request, publicUrl);
    const maxAgeSeconds = Math.floor((session.ends - clock.wallMs()) / 1_000);
    setCookie(reply, sessionCookieName(secure), session.token, { maxAgeSeconds, isSecure: secure });
    metrics.countLogin(way, 'done');
    await record(store, clock, {
      actor: session.actor,
      accountId: session.accountId,
      operation: 'login',
      address: request.ip,
      after: { by: way },
    });
  }

  /** Records a password reset by a link: its address becomes familiar for logins. */
  async recordReset(person: PersonRow, request: FastifyRequest): Promise<void> {
    const { store, clock } = this.deps;
    for (const { id: accountId } of await store.members.accountsOf(person.id)) {
      await record(store, clock, {
        actor: { kind: 'MEMBER', id: person.id, name: person.name ?? person.email },
        accountId,
        operation: 'resetPassword',
        resource: `accounts/me/members/${person.id}`,
        resourceName: person.email,
        address: request.ip,
      });
    }
  }

  /** Records a refused login in every account of the person, if the person exists. */
  async refuse(
    way: LoginMethod,
    request: FastifyRequest,
    of: { readonly name: string; readonly person?: PersonRow | undefined; readonly reason?: string },
  ): Promise<void> {
    const { store, clock, metrics, logger } = this.deps;
    metrics.countLogin(way, 'refused');
    const { name, person, reason } = of;
    logger.warn({ way, address: request.ip, requestId: request.id, reason }, 'login refused');
    const accounts = person ? await store.members.accountsOf(person.id) : [];
    const accountIds = accounts.length === 0 ? [null] : accounts.map(({ id }) => id);
    for (const accountId of accountIds) {
      await record(store, clock, {
        // The address field may contain a mistyped password.
        actor: {
          kind: 'NOBODY',
          id: null,
          name: way === 'password' && !name.includes('@') ? 'no address' : name,
        },
        accountId,
        operation: 'login',
        outcome: 'REFUSED',
        address: request.ip,
        after: { by: way, ...(reason === undefined ? {} : { reason }) },
      });
    }
  }

  /** Returns the login page. */
  async page(view: Omit<LoginView, 'hasPasswords' | 'singleSignOn'>, statusCode = 200): Promise<View> {
    const { store, singleSignOn } = this.deps;
    const hasPasswords = await store.members.hasPasswords();
    return { title: 'Log in', main: loginMain({ ...view, hasPasswords, singleSignOn }), statusCode };
  }
}

export function originOf(request: FastifyRequest): Origin {
  return { address: request.ip, browser: request.headers['user-agent'] ?? null };
}
