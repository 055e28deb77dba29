import type { MaintenanceStatus } from '@picket/protocol/pages/maintenance.ts';
import type { Generated } from 'kysely';

type Flag = 0 | 1;

export interface MaintenanceWindowRow {
  id: Generated<number>;
  account_id: string;
  starts_at: number;
  /** When its last occurrence ends; null when it repeats for ever. */
  last_ends_at: number | null;
  /** The window as its schema returned it. */
  definition: string;
  /** Whether status pages may show its maintenances. */
  is_visible: Flag;
  created: number;
  updated: number | null;
}

/** What was changed of one occurrence of a maintenance window. Times are epoch milliseconds. */
export interface MaintenanceRow {
  window_id: number;
  /** Which occurrence, from 1 on. */
  occurrence: number;
  /** null: as the window's rule has it. */
  starts_at: number | null;
  ends_at: number | null;
  is_deleted: Flag;
  /**
   * What follows from its updates: the last status that was said, and when they said that it began and ended.
   */
  stated: MaintenanceStatus | null;
  begun: number | null;
  ended: number | null;
}

/** What was announced about a maintenance. */
export interface MaintenanceUpdateRow {
  id: string;
  window_id: number;
  occurrence: number;
  /** The status it was shown with, and whether it said so itself. */
  status: MaintenanceStatus;
  is_stated: Flag;
  description: string;
  notify_subscribers: Flag;
  previous_status: MaintenanceStatus;
  previous_starts_at: number;
  previous_ends_at: number;
  /** The dates it gave the maintenance; null where it left them. */
  starts_at: number | null;
  ends_at: number | null;
  created: number;
}

/** That subscribers were mailed of a maintenance, so that they are once. */
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
