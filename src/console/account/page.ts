import type { Page } from '../page.ts';
import { showAudit } from './audit.ts';
import { createKey, revokeKey, showKeys } from './keys.ts';
import { changeRole, remove, sendInvite, showPeople, withdrawInvite } from './people.ts';
import {
  changePassword,
  endOtherSessions,
  endSession,
  saveName,
  showProfile,
  switchAccount,
} from './profile.ts';
import { showUsage } from './usage.ts';

export const accountPages: readonly Page[] = [
  {
    path: '/account',
    title: 'Account',
    navigation: { word: 'Account', icon: 'people' },
    role: 'READ_ONLY',
    handler: (call) => showPeople(call),
  },
  { path: '/account/keys', title: 'API keys', role: 'ADMIN', handler: (call) => showKeys(call) },
  { path: '/account/audit', title: 'Audit log', role: 'READ_ONLY', handler: showAudit },
  { path: '/account/usage', title: 'Usage', role: 'READ_ONLY', handler: showUsage },
  { path: '/account/profile', title: 'You', role: 'READ_ONLY', handler: (call) => showProfile(call) },
  ...posts('ADMIN', {
    '/account/invites': ['Invite', sendInvite],
    '/account/invites/:id/delete': ['Revoke an invitation', withdrawInvite],
    '/account/members/:id/role': ['Change a role', changeRole],
    '/account/members/:id/remove': ['Remove a member', remove],
    '/account/keys': ['Create a key', createKey],
    '/account/keys/:id/revoke': ['Revoke a key', revokeKey],
  }),
  ...posts('READ_ONLY', {
    '/account/profile': ['Your name', saveName],
    '/account/password': ['Your password', changePassword],
    '/account/sessions/end-others': ['End other sessions', endOtherSessions],
    '/account/sessions/:id/end': ['End a session', endSession],
    '/account/switch': ['Another account', switchAccount],
  }),
];

function posts(
  role: Page['role'],
  all: Readonly<Record<string, readonly [title: string, handler: Page['handler']]>>,
): Page[] {
  return Object.entries(all).map(([path, [title, handler]]) => ({
    method: 'POST',
    path,
    title,
    role,
    handler,
  }));
}
