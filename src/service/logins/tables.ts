/** A browser session, or a link that creates one; the lifecycle is in sessions.ts. */
export interface LoginSessionRow {
  id: string;
  /** An invitation is one offered after single sign-on; its id is that of the invitation. */
  kind: 'session' | 'link' | 'invitation';
  token_hash: string;
  account_id: string;
  /** API key that it was created with; null for a member's. */
  key_id: string | null;
  /** Member that it belongs to; null for one of an API key. */
  person_id: string | null;
  /** Roles from groups apply only to these: a password proves nothing about groups. */
  by_single_sign_on: 0 | 1;
  address: string | null;
  /** User agent that the browser sent. */
  browser: string | null;
  created: number;
  last_seen: number;
  expires: number;
}

export interface LoginTables {
  login_sessions: LoginSessionRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends LoginTables {}
}
