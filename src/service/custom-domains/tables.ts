/** How a host name of a page was proven. UPGRADE: it was there before names had to be. */
export type DomainMethod = 'TXT' | 'CNAME' | 'OPERATOR' | 'UPGRADE';

/** A host name that a page answers at: that of a status page, or of a dashboard. */
export interface CustomDomainRow {
  host: string;
  account_id: string;
  status_page_id: string | null;
  dashboard_id: string | null;
  /** null: not proven yet. */
  method: DomainMethod | null;
  /** Why the last look found no proof. */
  problem: string | null;
  checked: number | null;
  /** The first look that found a proven name without its proof; null while it has it. */
  failing_since: number | null;
  created: number;
}

/** A name by which an agent or another program called the service, or a probe. */
export interface ServiceNameRow {
  name: string;
  source: 'CALL' | 'PROBE';
  seen: number;
}

export interface CustomDomainTables {
  custom_domains: CustomDomainRow;
  service_names: ServiceNameRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends CustomDomainTables {}
}
