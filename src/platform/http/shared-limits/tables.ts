/** A partly spent allowance: of one limit, for one caller. */
export interface SpentLimitRow {
  /** SHA-256 of the limit and the caller: mail addresses of strangers are not stored. */
  name_hash: string;
  /** When it will be full again. */
  full_at: number;
}

export interface SharedLimitTables {
  spent_limits: SpentLimitRow;
}

declare module '../../store/tables.ts' {
  interface Tables extends SharedLimitTables {}
}
