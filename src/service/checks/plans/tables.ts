/** A version of the plan that runs of a check left for later runs. */
export interface CheckPlanRow {
  check_id: string;
  version: number;
  account_id: string;
  /** Reason for the new version, as reported by the check type. */
  reason: string;
  /** Result that it was reported with. */
  result_id: string;
  /** JSON in the format of the check type. */
  content: string;
  created: number;
}

export interface CheckPlanTables {
  check_plans: CheckPlanRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends CheckPlanTables {}
}
