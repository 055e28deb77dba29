import { z } from 'zod';
import { AppError } from '../../lib/errors.ts';
import type { ServiceConfig } from '../config.ts';
import type { KeyRole } from '../ids/keys.ts';
import type { Repositories } from '../store.ts';
import { join, type MemberDeps, newPerson, prove, setRole } from './members.ts';
import { listOfWords, rolesOf } from './oidc-settings.ts';
import type { PersonRow } from './tables.ts';

/** How people log in by a provider of OpenID Connect. */
export interface SingleSignOn {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  /** What the provider is called on the login page. */
  readonly name: string;
  readonly scopes: string;
  readonly emailClaim: string;
  readonly groupsClaim: string;
  /** Roles by group, in the order that decides; `*` is everybody. */
  readonly roles: readonly (readonly [group: string, role: KeyRole])[];
  /** People with an address of one of these are let in without an invitation. */
  readonly domains: readonly string[];
  readonly needsVerifiedEmail: boolean;
  /** The account people come into without an invitation; the first one when absent. */
  readonly accountId: string | undefined;
}

type SsoConfig = Pick<
  ServiceConfig,
  | 'OIDC_ISSUER'
  | 'OIDC_CLIENT_ID'
  | 'OIDC_CLIENT_SECRET'
  | 'OIDC_NAME'
  | 'OIDC_SCOPES'
  | 'OIDC_EMAIL_CLAIM'
  | 'OIDC_GROUPS_CLAIM'
  | 'OIDC_ROLES'
  | 'OIDC_DOMAINS'
  | 'OIDC_UNVERIFIED_MAIL'
  | 'OIDC_ACCOUNT'
  | 'PUBLIC_URL'
>;

/**
 * The single sign-on that a configuration names, if it does.
 *
 * @throws AppError CONFIG_INVALID for half of one.
 */
export function configuredSingleSignOn(config: SsoConfig): SingleSignOn | undefined {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId } = config;
  if (issuer === undefined && clientId === undefined) return undefined;
  if (issuer === undefined || clientId === undefined) {
    throw new AppError(
      'CONFIG_INVALID',
      'OIDC_ISSUER and OIDC_CLIENT_ID belong together: set both, or neither.',
    );
  }
  if (config.PUBLIC_URL === undefined) {
    throw new AppError(
      'CONFIG_INVALID',
      'PUBLIC_URL: single sign-on (OIDC_ISSUER) needs it, because the provider sends people back there.',
    );
  }
  return {
    issuer,
    clientId,
    clientSecret: config.OIDC_CLIENT_SECRET,
    name: config.OIDC_NAME,
    scopes: config.OIDC_SCOPES,
    emailClaim: config.OIDC_EMAIL_CLAIM,
    groupsClaim: config.OIDC_GROUPS_CLAIM,
    roles: rolesOf(config.OIDC_ROLES),
    domains: listOfWords(config.OIDC_DOMAINS).map((domain) => domain.toLowerCase()),
    needsVerifiedEmail: config.OIDC_UNVERIFIED_MAIL === 'refuse',
    accountId: config.OIDC_ACCOUNT,
  };
}

/** What a provider says of somebody, after its signature, nonce and times were found right. */
export type Claims = Readonly<Record<string, unknown>> & { readonly iss: string; readonly sub: string };

/** Whom single sign-on lets in, or why not; in words for the person. */
export type Admission =
  | { readonly person: PersonRow; readonly accountId: string }
  | { readonly refusal: string; readonly email: string };

/**
 * Lets somebody in whom a provider knows. Who they are follows from the provider's subject; the first time
 * from the mail address, which the provider must have verified. They are let into the accounts they are
 * members of, those they are invited to, and one more if their domain or a group of theirs is named in the
 * settings. A role that follows from a group holds anew at each login.
 */
export async function admit(deps: MemberDeps, sso: SingleSignOn, claims: Claims): Promise<Admission> {
  const email = emailOf(sso, claims);
  const isVerified = !sso.needsVerifiedEmail || claims.email_verified === true;
  const role = roleBy(sso, claims);
  const account = sso.accountId ?? (await deps.store.accounts.first())?.id;
  const domain = email?.split('@').at(-1) ?? '';
  const isWelcome = sso.domains.includes(domain) || role?.isByGroup === true;
  const now = deps.clock.wallMs();
  const person = await deps.store.transaction(async (repositories) => {
    const known = await knownPerson(repositories, claims, isVerified ? email : undefined);
    if (!isVerified || email === undefined) return known;
    const invitations = await repositories.members.invitationsFor(email, now);
    const isMember = known && (await repositories.members.accountsOf(known.id)).length > 0;
    if (invitations.length === 0 && !isWelcome && !isMember) return known;
    const name = typeof claims.name === 'string' ? claims.name.slice(0, 200).toWellFormed() : null;
    const one = known ?? (await newPerson(repositories.members, email, now, { name, email_proven: 1 }));
    if (!(await repositories.members.identity(claims.iss, claims.sub))) {
      await repositories.members.insertIdentity({
        issuer: claims.iss,
        subject: claims.sub,
        person_id: one.id,
      });
    }
    for (const invitation of invitations) await join(repositories, invitation, one.id, now);
    if (isWelcome && account !== undefined) {
      await join(repositories, { account_id: account, role: role?.role ?? 'READ_ONLY', email }, one.id, now);
    }
    return one;
  });
  const shownEmail = email ?? 'your address';
  if (person && account !== undefined && role) await keepRole(deps, account, person, role.role);
  const [first] = person ? await deps.store.members.accountsOf(person.id) : [];
  if (person && first) return { person, accountId: first.id };
  if (email === undefined) {
    return { refusal: `${sso.name} does not say what your mail address is.`, email: shownEmail };
  }
  if (!isVerified) {
    return {
      refusal: `Your mail address ${email} is not verified at ${sso.name}. Verify it there, then log in again.`,
      email,
    };
  }
  return { refusal: `Nobody has invited ${email}. Ask an admin of the account for an invitation.`, email };
}

async function knownPerson(
  repositories: Pick<Repositories, 'members' | 'logins'>,
  claims: Claims,
  provenEmail: string | undefined,
): Promise<PersonRow | undefined> {
  const { members } = repositories;
  const identity = await members.identity(claims.iss, claims.sub);
  if (identity) return members.person(identity.person_id);
  const person = provenEmail === undefined ? undefined : await members.personByEmail(provenEmail);
  return person && prove(repositories, person);
}

/** The role that groups give now. The last ADMIN stays one. */
async function keepRole(
  deps: MemberDeps,
  accountId: string,
  person: PersonRow,
  role: KeyRole,
): Promise<void> {
  const member = await deps.store.members.member(accountId, person.id);
  if (!member || member.role === role) return;
  try {
    await setRole(deps, { accountId, userId: person.id, role });
  } catch (thrown) {
    if (!(thrown instanceof AppError && thrown.code === 'CONFLICT')) throw thrown;
  }
}

const Email = z.string().trim().toLowerCase().max(254).pipe(z.email());

function emailOf({ emailClaim }: SingleSignOn, claims: Claims): string | undefined {
  return Email.safeParse(claims[emailClaim]).data;
}

function roleBy(
  { roles, groupsClaim }: SingleSignOn,
  claims: Claims,
): { role: KeyRole; isByGroup: boolean } | undefined {
  const groups = [claims[groupsClaim]].flat();
  const found = roles.find(([group]) => group === '*' || groups.includes(group));
  return found && { role: found[1], isByGroup: found[0] !== '*' };
}
