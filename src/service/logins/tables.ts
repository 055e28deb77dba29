/** A browser that is logged in, or a link that logs one in; the story is in sessions.ts. */
export interface LoginSessionRow {
  id: string;
  /** An invitation is one that a single sign-on found; its id is that of the invitation. */
  kind: 'session' | 'link' | 'invitation';
  token_hash: string;
  account_id: string;
  /** The API key it was begun with; null for a member's. */
  key_id: string | null;
  /** The member it is of; null for one of an API key. */
  person_id: string | null;
  /** Roles by groups count in these only: a password says nothing of groups. */
  by_single_sign_on: 0 | 1;
  address: string | null;
  /** What the browser said it is. */
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
