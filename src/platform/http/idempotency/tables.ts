/** A request with an idempotency key, and its answer once there is one. */
export interface StoredAnswerRow {
  /** SHA-256 of the caller, the operation and the key. */
  key_hash: string;
  account_id: string;
  /** The service process that answers it, and its request: `process/request`. */
  process_id: string;
  /** SHA-256 of path, query and body. */
  request_hash: string;
  created: number;
  /** Status and body, encrypted with a key that only the caller can make again; null while it is in progress. */
  sealed_answer: string | null;
}

export interface StoredAnswerTables {
  stored_answers: StoredAnswerRow;
  /** One row: written to find out whether anything can be. */
  write_tries: { id: number; content: Uint8Array };
}

declare module '../../store/tables.ts' {
  interface Tables extends StoredAnswerTables {}
}
