/** A request with an idempotency key, and its response if complete. */
export interface StoredAnswerRow {
  /** SHA-256 of the caller, the operation and the key. */
  key_hash: string;
  account_id: string;
  /** The service process and its request: `process/request`. */
  process_id: string;
  /** SHA-256 of path, query and body. */
  request_hash: string;
  created: number;
  /** Status and body, encrypted with a key that only the caller can derive; null while in progress. */
  sealed_answer: string | null;
}

export interface StoredAnswerTables {
  stored_answers: StoredAnswerRow;
  /** One row, written to test whether the database accepts writes. */
  write_tries: { id: number; content: Uint8Array };
}

declare module '../../store/tables.ts' {
  interface Tables extends StoredAnswerTables {}
}
