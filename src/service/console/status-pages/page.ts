import { type Page, posts } from '../page.ts';
import { arrangePage, deletePage, pageEditor, savePage } from './editor.ts';
import { listPages } from './list.ts';
import { previewPage } from './preview.ts';
import { addSubscribers, removeSubscriber, showSubscribers } from './subscribers.ts';

const base = '/pages/status';

export const statusPagePages: readonly Page[] = [
  {
    path: '/pages',
    title: 'Status pages',
    navigation: 'Status pages',
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
  ...posts(base, {
    '/new': ['New status page', savePage],
    '/arrange': ['Arrange a status page', arrangePage],
    '/preview': ['Preview a status page', previewPage],
    '/:id': ['Change a status page', savePage],
    '/:id/delete': ['Delete a status page', deletePage],
    '/:id/subscribers': ['Add subscribers', addSubscribers],
    '/:id/subscribers/:subscription/delete': ['Remove a subscriber', removeSubscriber],
  }),
];
