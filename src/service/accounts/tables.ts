import type { KeyRole } from '@picket/platform/ids/keys.ts';

export interface AccountRow {
  id: string;
  name: string;
  /** JSON: settings of checks that use the global ones; null for the defaults. */
  alert_settings: string | null;
  created: number;
}

export interface ApiKeyRow {
  id: string;
  account_id: string;
  name: string;
  role: KeyRole;
  key_hash: string;
  masked: string;
  created: number;
  /** With a resolution of one minute; null before the first use. */
  last_used: number | null;
}

export interface AccountTables {
  accounts: AccountRow;
  api_keys: ApiKeyRow;
}

declare module '@picket/platform/store/tables.ts' {
  interface Tables extends AccountTables {}
}
