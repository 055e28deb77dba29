import type { KeyRole } from '@picket/platform/ids/keys.ts';

/** Somebody, in whatever accounts they are a member. */
export interface PersonRow {
  id: string;
  /** In lower case. */
  email: string;
  /** Whether they have shown that the address is theirs. */
  email_proven: 0 | 1;
  name: string | null;
  /** A hash, as password.ts makes it; null: they log in by single sign-on, or not yet. */
  password: string | null;
  created: number;
}

export interface MemberRow {
  account_id: string;
  person_id: string;
  /** What they may: the higher one of the two below. */
  role: KeyRole;
  /** By an admin, an invitation or the operator; null for those whom only single sign-on lets in. */
  given_role: KeyRole | null;
  /** By the groups or the domain at their last login by single sign-on. Both null: not known yet. */
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
  /** Whether the token went to the address and to nobody else. */
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

/** Whom a provider of single sign-on means by a subject. */
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
