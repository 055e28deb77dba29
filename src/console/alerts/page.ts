import { type Page, posts } from '../page.ts';
import { editChannel, newChannel, saveChannel, saveNewChannel } from './channels/editor.ts';
import { deleteChannel, listChannels, subscribe, testChannel } from './channels/list.ts';
import { showEntry } from './entry.ts';
import { acknowledge, endSilence, mute, silence, silenceEntry, withdraw } from './handling.ts';
import { showAlerts } from './list.ts';
import { showLog } from './log.ts';

export const alertPages: readonly Page[] = [
  {
    path: '/alerts',
    title: 'Alerts',
    navigation: { word: 'Alerts', icon: 'bell' },
    role: 'READ_ONLY',
    handler: (call) => showAlerts(call),
  },
  { path: '/alerts/entries/:id', title: 'Alert', role: 'READ_ONLY', handler: showEntry },
  { path: '/alerts/notifications', title: 'Notifications', role: 'READ_ONLY', handler: showLog },
  {
    path: '/alerts/channels',
    title: 'Alert channels',
    role: 'READ_ONLY',
    handler: (call) => listChannels(call),
  },
  {
    path: '/alerts/channels/new',
    title: 'New channel',
    role: 'READ_WRITE',
    handler: async (call) => newChannel(call),
  },
  ...posts('', {
    '/alerts/channels/new': ['New channel', saveNewChannel],
    '/alerts/channels/:id': ['Edit channel', saveChannel],
    '/alerts/channels/:id/delete': ['Delete channel', deleteChannel],
    '/alerts/channels/:id/test': ['Test channel', testChannel],
    '/alerts/channels/:id/subscriptions': ['Subscribe', subscribe],
    '/alerts/entries/:id/acknowledge': ['Acknowledge', acknowledge],
    '/alerts/entries/:id/withdraw': ['Withdraw an acknowledgement', withdraw],
    '/alerts/entries/:id/silence': ['Silence', silenceEntry],
    '/alerts/entries/:id/mute': ['Mute', mute],
    '/alerts/silences': ['Silence', silence],
    '/alerts/silences/:id/end': ['End a silence', endSilence],
  }),
  {
    path: '/alerts/channels/:id',
    title: 'Channel',
    role: 'READ_WRITE',
    handler: (call) => editChannel(call),
  },
];
