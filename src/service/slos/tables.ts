import type { Generated } from 'kysely';
import type { BurnWindow } from './burn.ts';

/** A service level objective as it is stored. */
export interface SloRow {
  id: Generated<number>;
  account_id: string;
  definition: string;
  created: number;
  updated: number | null;
}

/** An objective with an active burn that its channels were notified of; see burn.ts. */
export interface SloBurnRow {
  slo_id: number;
  account_id: string;
  /** Alert that reported it. */
  alert_id: string;
  /** Window that burned when it began. */
  burn_window: BurnWindow['name'];
  since: number;
}

export interface SloTables {
  slos: SloRow;
  slo_burns: SloBurnRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends SloTables {}
}
