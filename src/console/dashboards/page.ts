import { type Page, posts } from '../page.ts';
import { checkDomain, dashboardEditor, removeDashboard, saveDashboard } from './editor.ts';
import { listDashboards } from './list.ts';
import { previewDashboard } from './preview.ts';

const base = '/pages/dashboards';

export const dashboardPages: readonly Page[] = [
  { path: base, title: 'Dashboards', role: 'READ_ONLY', handler: listDashboards },
  {
    path: `${base}/new`,
    title: 'New dashboard',
    role: 'READ_WRITE',
    handler: (call) => dashboardEditor(call),
  },
  {
    path: `${base}/:id`,
    title: 'Dashboard',
    role: 'READ_WRITE',
    handler: (call) => dashboardEditor(call, { isSaved: call.query.has('saved') }),
  },
  ...posts(base, {
    '/new': ['New dashboard', saveDashboard],
    '/preview': ['Preview a dashboard', previewDashboard],
    '/:id': ['Change a dashboard', saveDashboard],
    '/:id/domain': ['Check the domain of a dashboard', checkDomain],
    '/:id/delete': ['Delete a dashboard', removeDashboard],
  }),
];
