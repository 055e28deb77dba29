import type { Generated } from 'kysely';
import type { CauseKind } from './failing-check.ts';

export interface AlertCauseRow {
  id: string;
  account_id: string;
  kind: CauseKind;
  /** `OpenCause` as JSON. */
  state: string;
  opened: number;
  closed: number | null;
  /** When time alone may change it; null once it is over. */
  next_at: number | null;
}

/** The open cause of a failing check. */
export interface AlertCauseMemberRow {
  check_id: string;
  cause_id: string;
}

/** `StoredCauseEvent` of a check that is waiting to be grouped. */
export interface AlertCauseEventRow {
  position: number;
  account_id: string;
  check_id: string;
  content: string;
  created: number;
  /** Latest time at which it is grouped. */
  due: number;
}

/** A check and one of its parents. */
export interface CheckParentRow {
  check_id: string;
  parent_id: string;
}

export interface CauseTables {
  alert_causes: AlertCauseRow;
  alert_cause_members: AlertCauseMemberRow;
  alert_cause_news: Omit<AlertCauseEventRow, 'position'> & { position: Generated<number> };
  check_parents: CheckParentRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends CauseTables {}
}
