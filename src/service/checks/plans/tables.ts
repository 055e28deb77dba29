/** A version of what runs of a check left for later ones. */
export interface CheckPlanRow {
  check_id: string;
  version: number;
  account_id: string;
  /** Why there is a new one, as the check's type says. */
  reason: string;
  /** The result that it came with. */
  result_id: string;
  /** JSON, as the check's type has it. */
  content: string;
  created: number;
}

export interface CheckPlanTables {
  check_plans: CheckPlanRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends CheckPlanTables {}
}
