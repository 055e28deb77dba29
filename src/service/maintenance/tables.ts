import type { MaintenanceStatus } from '@picket/protocol/pages/maintenance.ts';
import type { Generated } from 'kysely';

type Flag = 0 | 1;

export interface MaintenanceWindowRow {
  id: Generated<number>;
  account_id: string;
  starts_at: number;
  /** When its last occurrence ends; null if it repeats forever. */
  last_ends_at: number | null;
  /** The window as its schema returned it. */
  definition: string;
  /** Whether status pages may show its maintenances. */
  is_visible: Flag;
  created: number;
  updated: number | null;
}

/** Changes of one occurrence of a maintenance window. Times are epoch milliseconds. */
export interface MaintenanceRow {
  window_id: number;
  /** Number of the occurrence, starting at 1. */
  occurrence: number;
  /** null: according to the window's rule. */
  starts_at: number | null;
  ends_at: number | null;
  is_deleted: Flag;
  /** Derived from its updates: the last status, and when it began and ended. */
  stated: MaintenanceStatus | null;
  begun: number | null;
  ended: number | null;
}

/** An announcement about a maintenance. */
export interface MaintenanceUpdateRow {
  id: string;
  window_id: number;
  occurrence: number;
  /** Status that it was shown with, and whether the update set it itself. */
  status: MaintenanceStatus;
  is_stated: Flag;
  description: string;
  notify_subscribers: Flag;
  previous_status: MaintenanceStatus;
  previous_starts_at: number;
  previous_ends_at: number;
  /** Dates that it gave the maintenance; null if unchanged. */
  starts_at: number | null;
  ends_at: number | null;
  created: number;
}

/** Records that subscribers were mailed about a maintenance, to prevent duplicates. */
export interface MaintenanceNoticeRow {
  window_id: number;
  occurrence: number;
  /** `start`, `end`, or `reminder-60` for the one an hour before. */
  kind: string;
  created: number;
}

export interface MaintenanceTables {
  maintenance_windows: MaintenanceWindowRow;
  maintenances: MaintenanceRow;
  maintenance_updates: MaintenanceUpdateRow;
  maintenance_notices: MaintenanceNoticeRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends MaintenanceTables {}
}
