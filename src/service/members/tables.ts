import type { KeyRole } from '@picket/platform/ids/keys.ts';

/** A person, regardless of the accounts they are a member of. */
export interface PersonRow {
  id: string;
  /** In lower case. */
  email: string;
  /** Whether they have proven that the address is theirs. */
  email_proven: 0 | 1;
  name: string | null;
  /** A hash in the format of password.ts; null: they use single sign-on, or have not set one yet. */
  password: string | null;
  created: number;
}

export interface MemberRow {
  account_id: string;
  person_id: string;
  /** Effective role: the higher of the two below. */
  role: KeyRole;
  /** From an admin, an invitation or the operator; null for those whom only single sign-on admits. */
  given_role: KeyRole | null;
  /** From the groups or the domain at their last single sign-on. Both null: not known yet. */
  group_role: KeyRole | null;
  created: number;
  updated: number;
}

export interface InvitationRow {
  id: string;
  account_id: string;
  email: string;
  role: KeyRole;
  token_hash: string;
  /** Whether the token was sent to the address, and only there. */
  is_mailed: 0 | 1;
  invited_by: string;
  created: number;
  expires: number;
}

export interface PasswordResetRow {
  token_hash: string;
  person_id: string;
  is_mailed: 0 | 1;
  expires: number;
}

/** The person that a subject of a single sign-on provider identifies. */
export interface IdentityRow {
  issuer: string;
  subject: string;
  person_id: string;
}

export interface MemberTables {
  people: PersonRow;
  members: MemberRow;
  invitations: InvitationRow;
  password_resets: PasswordResetRow;
  identities: IdentityRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends MemberTables {}
}
