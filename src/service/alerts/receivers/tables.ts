/** Something that a receiver which keeps incidents was notified of, and not yet that it is over. */
export interface ReceiverIncidentRow {
  channel_id: number;
  /** What the receiver tells it by. */
  incident_key: string;
  account_id: string;
  /** The check, location or objective that it is filed under. */
  filed_under: string;
  subject: string;
  /** The alert that opened it. */
  alert_id: string;
  /** Of that alert: alerts are removed by their age. */
  facts: string;
  opened: number;
  /** When it is looked at next, for what it is about may be gone. */
  look_at: number;
}

/** A channel as it was before it was changed or deleted, for as long as something is to be sent there. */
export interface FormerChannelRow {
  id: string;
  account_id: string;
  type: string;
  definition: string;
  created: number;
}

export interface ReceiverTables {
  receiver_incidents: ReceiverIncidentRow;
  former_channels: FormerChannelRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends ReceiverTables {}
}
