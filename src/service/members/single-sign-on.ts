import { AppError } from '@picket/lib/errors.ts';
import type { ServiceConfig } from '@picket/platform/config/config.ts';
import { listOfWords, rolesOf } from '@picket/platform/config/single-sign-on.ts';
import type { KeyRole } from '@picket/platform/ids/keys.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { z } from 'zod';
import { followGroups, type RoleChange, type RoleOfLogin } from './group-roles.ts';
import { type MemberDeps, newPerson, prove } from './members.ts';
import type { InvitationRow, PersonRow } from './tables.ts';

/** Settings for login by an OpenID Connect provider. */
export interface SingleSignOn {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  /** Name of the provider on the login page. */
  readonly name: string;
  readonly scopes: string;
  readonly emailClaim: string;
  readonly groupsClaim: string;
  /** Roles by group, in order of precedence; `*` matches everyone. */
  readonly roles: readonly (readonly [group: string, role: KeyRole])[];
  /** People with an address in one of these domains are admitted without an invitation. */
  readonly domains: readonly string[];
  readonly needsVerifiedEmail: boolean;
  /** Account that people join without an invitation; the first one if absent. */
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
 * Single sign-on settings of a configuration, if any.
 *
 * @throws AppError CONFIG_INVALID for incomplete settings.
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
      'PUBLIC_URL: single sign-on (OIDC_ISSUER) needs it, because the provider redirects users there.',
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

/** Claims of a provider about a person, after its signature, nonce and times were verified. */
export type Claims = Readonly<Record<string, unknown>> & { readonly iss: string; readonly sub: string };

/** The person that single sign-on admits, or the reason for rejection, in words for that person. */
export type Admission = { readonly changes: readonly RoleChange[] } & (
  | {
      readonly person: PersonRow;
      /** Undefined for a person who is only invited. */
      readonly accountId: string | undefined;
      /** Invitations to accept or decline: an unsolicited invitation alone does not create a membership. */
      readonly invitations: readonly InvitationRow[];
    }
  | { readonly refusal: string; readonly email: string }
);

/**
 * Admits a person that a provider has authenticated. They are identified by the provider's subject; the first time by
 * the mail address, which the provider must have verified. They are admitted to the accounts they are members of, and
 * to one more if the settings name their domain or a group of theirs. Invitations to their address are offered to them.
 * Roles from groups and domain are reassessed at each login, up and down; a missing claim means no groups, as providers
 * omit empty ones.
 */
export async function admit(deps: MemberDeps, sso: SingleSignOn, claims: Claims): Promise<Admission> {
  const email = emailOf(sso, claims);
  const isVerified = !sso.needsVerifiedEmail || claims.email_verified === true;
  const provenEmail = isVerified ? email : undefined;
  const found: Partial<Found> & Pick<Found, 'changes'> = await deps.store.transaction(
    async (repositories) => {
      const { accounts, members } = repositories;
      const now = deps.clock.wallMs();
      const known = await knownPerson(repositories, claims, provenEmail);
      const role = roleBy(sso, claims, provenEmail);
      const invitations = provenEmail === undefined ? [] : await members.invitationsFor(provenEmail, now);
      // A known subject with an unproven address keeps what it has, and gets nothing new.
      if (!known && (provenEmail === undefined || !(role.isWelcome || invitations.length > 0))) {
        return { changes: [] };
      }
      const name = typeof claims.name === 'string' ? claims.name.slice(0, 200).toWellFormed() : null;
      const person = known ?? (await newPerson(members, email ?? '', now, { name, email_proven: 1 }));
      if (!(await members.identity(claims.iss, claims.sub))) {
        await members.insertIdentity({ issuer: claims.iss, subject: claims.sub, person_id: person.id });
      }
      const accountId = sso.accountId ?? (await accounts.first())?.id;
      const changes = await followGroups(repositories, person, { ...role, accountId }, deps.clock);
      const [first] = await members.accountsOf(person.id);
      const left = provenEmail === undefined ? [] : await members.invitationsFor(provenEmail, now);
      return { person, changes, accountId: first?.id, invitations: left };
    },
  );
  const { person, changes, accountId, invitations = [] } = found;
  if (person && (accountId !== undefined || invitations.length > 0)) {
    return { person, changes, accountId, invitations };
  }
  return { changes, ...refusalOf(sso, { claims, email, isVerified, changes }) };
}

type Found = Extract<Admission, { person: PersonRow }>;

function refusalOf(
  { name, groupsClaim, roles }: SingleSignOn,
  of: {
    readonly claims: Claims;
    readonly email: string | undefined;
    readonly isVerified: boolean;
    readonly changes: readonly RoleChange[];
  },
): { readonly refusal: string; readonly email: string } {
  const { claims, email, isVerified, changes } = of;
  if (email === undefined) {
    return { refusal: `${name} does not report your mail address.`, email: 'your address' };
  }
  if (!isVerified) {
    return {
      refusal: `Your mail address ${email} is not verified at ${name}. Verify it there, then log in again.`,
      email,
    };
  }
  const hasEnded = changes.some(({ after }) => after === null);
  const isSilent = roles.some(([group]) => group !== '*') && claims[groupsClaim] === undefined;
  const why = hasEnded
    ? `Your groups at ${name} no longer give you access${isSilent ? `: it does not name any (claim "${groupsClaim}")` : ''}.`
    : `${email} is not invited.`;
  return { refusal: `${why} Ask an admin of the account for an invitation.`, email };
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

const Email = z.string().trim().toLowerCase().max(254).pipe(z.email());

function emailOf({ emailClaim }: SingleSignOn, claims: Claims): string | undefined {
  return Email.safeParse(claims[emailClaim]).data;
}

/** Role that groups and domain give at this login; only the domain of a proven address counts. */
function roleBy(
  { roles, groupsClaim, domains }: SingleSignOn,
  claims: Claims,
  provenEmail: string | undefined,
): Omit<RoleOfLogin, 'accountId'> {
  const groups = [claims[groupsClaim]].flat();
  const found = roles.find(([group]) => group === '*' || groups.includes(group));
  const isByGroup = found !== undefined && found[0] !== '*';
  const isWelcome = isByGroup || domains.includes(provenEmail?.split('@').at(-1) ?? '');
  const role = found?.[1] ?? (isWelcome ? 'READ_ONLY' : null);
  return { role, isWelcome, mayJoin: provenEmail !== undefined };
}
