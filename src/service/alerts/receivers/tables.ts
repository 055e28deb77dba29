/** A subject that a receiver which keeps incidents was notified of, but not yet that it is over. */
export interface ReceiverIncidentRow {
  channel_id: number;
  /** Key that the receiver identifies it by. */
  incident_key: string;
  account_id: string;
  /** Check, location or objective that it is filed under. */
  filed_under: string;
  subject: string;
  /** Alert that opened it. */
  alert_id: string;
  /** Facts of that alert: alerts are deleted by age. */
  facts: string;
  opened: number;
  /** When it is examined next, because its subject may be gone. */
  look_at: number;
}

/** A channel as it was before it was changed or deleted, kept while something is still to be sent there. */
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
