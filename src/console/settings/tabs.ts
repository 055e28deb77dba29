import { tabs } from '../elements/tabs.ts';
import type { Html } from '../html.ts';
import { tables } from './tables.ts';

const parts = [
  ...tables,
  { path: '/settings/runtimes', title: 'Runtimes' },
  { path: '/settings/projects', title: 'Projects' },
];

/** Tabs of the account's resources, below their heading. */
export function settingsTabs(shown: string): Html {
  return tabs('Tables of the account', parts, shown);
}
