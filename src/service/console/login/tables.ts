/** A browser that is logged in, or a link that logs one in; the story is in sessions.ts. */
export interface LoginSessionRow {
  id: string;
  kind: 'session' | 'link';
  token_hash: string;
  account_id: string;
  /** The API key it was begun with; null for a member's. */
  key_id: string | null;
  /** The member it is of; null for one of an API key. */
  person_id: string | null;
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
