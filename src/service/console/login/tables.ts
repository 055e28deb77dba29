/** A browser that is logged in, or a link that logs one in; the story is in sessions.ts. */
export interface LoginSessionRow {
  id: string;
  kind: 'session' | 'link';
  token_hash: string;
  account_id: string;
  key_id: string;
  created: number;
  last_seen: number;
  expires: number;
}

export interface LoginTables {
  login_sessions: LoginSessionRow;
}
