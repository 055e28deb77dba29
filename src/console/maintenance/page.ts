import { type Page, posts } from '../page.ts';
import { previewWindow, saveWindow, windowEditor } from './editor.ts';
import { listWindows } from './list.ts';
import { deleteWindow, moveOccurrence, postUpdate, showWindow, skipOccurrence } from './window.ts';

const base = '/pages/maintenance';

export const maintenancePages: readonly Page[] = [
  { path: base, title: 'Maintenance', role: 'READ_ONLY', handler: listWindows },
  { path: `${base}/new`, title: 'New window', role: 'READ_WRITE', handler: (call) => windowEditor(call) },
  {
    path: `${base}/:id`,
    title: 'Maintenance window',
    role: 'READ_ONLY',
    handler: (call) => showWindow(call),
  },
  {
    path: `${base}/:id/edit`,
    title: 'Edit window',
    role: 'READ_WRITE',
    handler: (call) => windowEditor(call),
  },
  ...posts(base, {
    '/new': ['New window', saveWindow],
    '/preview': ['Preview a window', previewWindow],
    '/:id/edit': ['Edit window', saveWindow],
    '/:id/delete': ['Delete window', deleteWindow],
    '/:id/occurrences/:occurrence/update': ['Update a maintenance', postUpdate],
    '/:id/occurrences/:occurrence/move': ['Move a maintenance', moveOccurrence],
    '/:id/occurrences/:occurrence/skip': ['Skip a maintenance', skipOccurrence],
  }),
];
