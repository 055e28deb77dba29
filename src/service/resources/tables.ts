import type { Generated } from 'kysely';

/**
 * The rows of what checks refer to: variables, snippets, client certificates, groups and maintenance windows. The same
 * conventions as in tables.ts. Numeric ids are given by the database.
 */
type Flag = 0 | 1;

export interface VariableRow {
  account_id: string;
  key: string;
  value: string;
  locked: Flag;
  secret: Flag;
  created: number;
  updated: number | null;
}

export interface SnippetRow {
  id: Generated<number>;
  account_id: string;
  name: string;
  script: string;
  created: number;
  updated: number | null;
}

export interface ClientCertificateRow {
  id: string;
  account_id: string;
  host: string;
  cert: string;
  private_key: string;
  ca: string | null;
  passphrase: string | null;
  created: number;
}

export interface CheckGroupRow {
  id: Generated<number>;
  account_id: string;
  name: string;
  /** The name in lower case, for searches. */
  name_search: string;
  /** The group as its schema returned it. */
  definition: string;
  created: number;
  updated: number | null;
}

export interface CheckGroupTagRow {
  group_id: number;
  tag: string;
}

/** Where a group makes its checks run: regions and slugs of private locations. */
export interface CheckGroupLocationRow {
  group_id: number;
  name: string;
}

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

export interface ResourceTables {
  variables: VariableRow;
  snippets: SnippetRow;
  client_certificates: ClientCertificateRow;
  check_groups: CheckGroupRow;
  check_group_tags: CheckGroupTagRow;
  check_group_locations: CheckGroupLocationRow;
  maintenance_windows: MaintenanceWindowRow;
}
