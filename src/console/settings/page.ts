import type { Page } from '../page.ts';
import { changeOne, createOne, deleteOne, newOne, showOne } from './editor.ts';
import { listTable } from './list.ts';
import { showProjects } from './projects.ts';
import { showRuntimes } from './runtimes.ts';
import { type Table, tables } from './tables.ts';

/** Pages of the account's plain resources, derived from the registry of resources alone. */
export const settingsPages: readonly Page[] = [
  {
    path: '/settings',
    title: 'Settings',
    navigation: { word: 'Settings', icon: 'gear' },
    role: 'READ_ONLY',
    handler: async () => ({ goTo: tables[0]?.path ?? '/settings/runtimes' }),
  },
  ...tables.flatMap(pagesOf),
  { path: '/settings/runtimes', title: 'Runtimes', role: 'READ_ONLY', handler: showRuntimes },
  { path: '/settings/projects', title: 'Projects', role: 'READ_ONLY', handler: showProjects },
];

function pagesOf(table: Table): Page[] {
  const { path, title, noun } = table;
  const one = `${path}/:key`;
  return [
    { path, title, role: 'READ_ONLY', handler: (call) => listTable(call, table) },
    {
      path: `${path}/new`,
      title: `New ${noun}`,
      role: 'READ_WRITE',
      handler: (call) => newOne(call, table),
    },
    {
      method: 'POST',
      path: `${path}/new`,
      title: `New ${noun}`,
      role: 'READ_WRITE',
      handler: (call) => createOne(call, table),
    },
    { path: `${one}/details`, title, role: 'READ_ONLY', handler: (call) => showOne(call, table) },
    ...(table.api.routes.update
      ? [
          {
            method: 'POST' as const,
            path: `${one}/details`,
            title: `Change ${noun}`,
            role: 'READ_WRITE' as const,
            handler: (call: Parameters<Page['handler']>[0]) => changeOne(call, table),
          },
        ]
      : []),
    {
      method: 'POST',
      path: `${one}/delete`,
      title: `Delete ${noun}`,
      role: 'READ_WRITE',
      handler: (call) => deleteOne(call, table),
    },
  ];
}
