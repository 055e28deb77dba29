/** Some lines of the log of a run that an agent has: they are deleted once the run is no longer under this lease. */
export interface LiveLogRow {
  run_id: string;
  lease_number: number;
  /** Index of its first line in the log. */
  first_line: number;
  account_id: string;
  size_bytes: number;
  /** Whether its agent sends no more lines. */
  is_full: 0 | 1;
  /** The lines as JSON. */
  lines: string;
  created: number;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables {
    live_log_lines: LiveLogRow;
  }
}
