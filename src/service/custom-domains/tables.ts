/** How a host name of a page was proven. UPGRADE: it existed before proofs were required. */
export type DomainMethod = 'TXT' | 'CNAME' | 'OPERATOR' | 'UPGRADE';

/** Host name of a status page or dashboard. */
export interface CustomDomainRow {
  host: string;
  account_id: string;
  status_page_id: string | null;
  dashboard_id: string | null;
  /** null: not proven yet. */
  method: DomainMethod | null;
  /** Why the last check found no proof. */
  problem: string | null;
  checked: number | null;
  /** The first check that found a proven name without its proof; null while it is proven. */
  failing_since: number | null;
  created: number;
}

/** A name by which an agent, another client or a probe called the service. */
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
