import { type Page, type PageCall, posts } from '../page.ts';
import { componentEditor, deleteComponent, moveComponent, saveComponent } from './components.ts';
import { arrangePage, checkPageDomain, deletePage, pageEditor, savePage } from './editor.ts';
import { listPages } from './list.ts';
import { previewPage } from './preview.ts';
import { deleteRule, ruleEditor, saveRule } from './rules.ts';
import { addSubscribers, removeSubscriber, showSubscribers } from './subscribers.ts';

const base = '/pages/status';

export const statusPagePages: readonly Page[] = [
  {
    path: '/pages',
    title: 'Status pages',
    navigation: { word: 'Status pages', icon: 'broadcast' },
    role: 'READ_ONLY',
    handler: async () => ({ goTo: base }),
  },
  { path: base, title: 'Status pages', role: 'READ_ONLY', handler: listPages },
  { path: `${base}/new`, title: 'New status page', role: 'READ_WRITE', handler: (call) => pageEditor(call) },
  {
    path: `${base}/:id`,
    title: 'Status page',
    role: 'READ_WRITE',
    handler: (call) => pageEditor(call, { isSaved: call.query.has('saved') }),
  },
  {
    path: `${base}/:id/subscribers`,
    title: 'Subscribers',
    role: 'READ_ONLY',
    handler: (call) => showSubscribers(call),
  },
  ...(['components/new', 'components/:component'] as const).map((end) => ({
    path: `${base}/:id/${end}`,
    title: 'Component',
    role: 'READ_WRITE' as const,
    handler: (call: PageCall) => componentEditor(call),
  })),
  ...(['rules/new', 'rules/:rule'] as const).map((end) => ({
    path: `${base}/:id/${end}`,
    title: 'Automation rule',
    role: 'READ_WRITE' as const,
    handler: (call: PageCall) => ruleEditor(call),
  })),
  ...posts(base, {
    '/:id/components/new': ['Add a component', saveComponent],
    '/:id/components/:component': ['Change a component', saveComponent],
    '/:id/components/:component/up': ['Move a component up', (call) => moveComponent(call, -1)],
    '/:id/components/:component/down': ['Move a component down', (call) => moveComponent(call, 1)],
    '/:id/components/:component/delete': ['Delete a component', deleteComponent],
    '/:id/rules/new': ['Add an automation rule', saveRule],
    '/:id/rules/:rule': ['Change an automation rule', saveRule],
    '/:id/rules/:rule/delete': ['Delete an automation rule', deleteRule],
    '/new': ['New status page', savePage],
    '/arrange': ['Arrange a status page', arrangePage],
    '/preview': ['Preview a status page', previewPage],
    '/:id': ['Change a status page', savePage],
    '/:id/domain': ['Check the domain of a status page', checkPageDomain],
    '/:id/delete': ['Delete a status page', deletePage],
    '/:id/subscribers': ['Add subscribers', addSubscribers],
    '/:id/subscribers/:subscription/delete': ['Remove a subscriber', removeSubscriber],
  }),
];
