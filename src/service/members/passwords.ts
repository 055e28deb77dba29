import { randomBytes } from 'node:crypto';
import { fieldError } from '@picket/platform/http/validation.ts';
import { hashKey } from '@picket/platform/ids/keys.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { join, type MemberDeps, newPerson, prove } from './members.ts';
import { hashPassword, isPassword, passwordProblem } from './password.ts';
import type { InvitationRow, PersonRow } from './tables.ts';

const resetMs = 60 * 60_000;

/** The person with this address and password; null otherwise, in the same time. */
export async function personWith(
  { store }: Pick<MemberDeps, 'store'>,
  email: string,
  password: string,
): Promise<PersonRow | null> {
  const person = await store.members.personByEmail(email.trim().toLowerCase());
  const isRight = await isPassword(password, person?.password ?? null);
  return person && isRight ? person : null;
}

/** Proof that a person must provide to accept an invitation. */
export type Proof =
  /** A new password. */
  | 'new-password'
  /** Their existing password. */
  | 'password'
  /** They have no password, and log in by single sign-on. */
  | 'single-sign-on';

export interface OpenInvitation {
  readonly invitation: InvitationRow;
  readonly person: PersonRow | undefined;
  readonly accountName: string;
  readonly proof: Proof;
}

/** An invitation by its token; null if it was accepted, withdrawn or has expired. */
export async function openInvitation(
  { store, clock }: MemberDeps,
  token: string,
): Promise<OpenInvitation | null> {
  const invitation = await store.members.invitationByToken(hashKey(token), clock.wallMs());
  const account = invitation && (await store.accounts.find(invitation.account_id));
  if (!invitation || !account) return null;
  const person = await store.members.personByEmail(invitation.email);
  return { invitation, person, accountName: account.name, proof: proofOf(invitation, person) };
}

function proofOf({ is_mailed: isMailed }: InvitationRow, person: PersonRow | undefined): Proof {
  if (!person) return 'new-password';
  if (isMailed && (person.email_proven === 0 || person.password === null)) return 'new-password';
  return person.password === null ? 'single-sign-on' : 'password';
}

/**
 * Accepts an invitation: null if it is no longer open, or the password is wrong.
 *
 * @throws AppError VALIDATION_FAILED for an unacceptable new password.
 */
export async function acceptInvitation(
  deps: MemberDeps,
  token: string,
  given: { readonly name: string; readonly password: string },
): Promise<{ person: PersonRow; accountId: string } | null> {
  const { store, clock } = deps;
  const open = await openInvitation(deps, token);
  if (!open || open.proof === 'single-sign-on') return null;
  const { invitation, proof } = open;
  if (proof === 'password' && !(await isPassword(given.password, open.person?.password ?? null))) return null;
  const password = proof === 'new-password' ? await hashOf(given.password, invitation.email) : null;
  const name = given.name.trim() || null;
  return store.transaction(async (repositories) => {
    const { members } = repositories;
    if (!(await members.redeemInvitation(invitation.id))) return null;
    const now = clock.wallMs();
    const isMailed = invitation.is_mailed;
    let person = await members.personByEmail(invitation.email);
    if (!person) {
      person = await newPerson(members, invitation.email, now, { name, password, email_proven: isMailed });
    } else if (password !== null) {
      // Another request may have proven that person in the meantime.
      if (proofOf(invitation, person) !== 'new-password') return null;
      person = await prove(repositories, person);
      await members.updatePerson(person.id, { password, ...(name === null ? {} : { name }) });
    }
    await join(repositories, invitation, person.id, now);
    return { person, accountId: invitation.account_id };
  });
}

/** Creates a token that sets a password, replacing earlier ones. */
export async function startReset(
  { store, clock }: MemberDeps,
  person: PersonRow,
  isMailed: boolean,
): Promise<string> {
  const now = clock.wallMs();
  const token = randomBytes(32).toString('base64url');
  const row = {
    token_hash: hashKey(token),
    person_id: person.id,
    is_mailed: isMailed ? 1 : 0,
    expires: now + resetMs,
  } as const;
  await store.transaction(({ members }) => members.addReset(row, now));
  return token;
}

/** The person whose password a token sets; null if it was used or is older than an hour. */
export async function personOfReset({ store, clock }: MemberDeps, token: string): Promise<PersonRow | null> {
  const reset = await store.members.reset(hashKey(token), clock.wallMs());
  return reset ? ((await store.members.person(reset.person_id)) ?? null) : null;
}

/**
 * Sets a password by a token, once; sessions of that person end. Null if the token is no longer valid.
 *
 * @throws AppError VALIDATION_FAILED for an unacceptable password.
 */
export async function resetPassword(
  deps: MemberDeps,
  token: string,
  password: string,
): Promise<PersonRow | null> {
  const known = await personOfReset(deps, token);
  if (!known) return null;
  const hash = await hashOf(password, known.email);
  return deps.store.transaction(async (repositories) => {
    const { members, logins } = repositories;
    const reset = await members.reset(hashKey(token), deps.clock.wallMs());
    if (!reset || !(await members.redeemReset(reset.token_hash))) return null;
    if (reset.is_mailed) await prove(repositories, known);
    await members.updatePerson(known.id, { password: hash });
    await logins.deleteOfPerson(known.id);
    return known;
  });
}

/**
 * Changes a person's own password; their other sessions end.
 *
 * @returns whether the old one was right.
 * @throws AppError VALIDATION_FAILED for an unacceptable new password.
 */
export async function changePassword(
  { store }: Pick<MemberDeps, 'store'>,
  person: PersonRow,
  given: { readonly old: string; readonly new: string; readonly keptSessionId: string },
): Promise<boolean> {
  if (!(await isPassword(given.old, person.password))) return false;
  const password = await hashOf(given.new, person.email);
  await store.transaction(async ({ members, logins }: Pick<Repositories, 'members' | 'logins'>) => {
    await members.updatePerson(person.id, { password });
    await logins.deleteOfPerson(person.id, given.keptSessionId);
  });
  return true;
}

async function hashOf(password: string, email: string): Promise<string> {
  const problem = passwordProblem(password, email);
  if (problem !== undefined) throw fieldError('payload', [{ key: 'password', message: problem }]);
  return hashPassword(password);
}
