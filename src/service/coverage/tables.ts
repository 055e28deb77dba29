/** How far the slots of a check are sealed: all that were due before are in `slot_days`. */
interface SlotSealRow {
  check_id: string;
  until_ms: number;
}

/** Outcomes of the slots of a check on one day (UTC). See slot-days.ts. */
interface SlotDayRow {
  check_id: string;
  day_ms: number;
  content: Uint8Array;
}

export interface CoverageTables {
  slot_seals: SlotSealRow;
  slot_days: SlotDayRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends CoverageTables {}
}
