import { tabs } from '../elements/tabs.ts';
import type { Html } from '../html.ts';
import { tables } from './tables.ts';

const parts = [
  ...tables,
  { path: '/settings/runtimes', title: 'Runtimes' },
  { path: '/settings/projects', title: 'Projects' },
];

/** The tables of the account, beneath their heading. */
export function settingsTabs(shown: string): Html {
  return tabs('Tables of the account', parts, shown);
}
