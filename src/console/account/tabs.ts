import type { Viewer } from '@picket/service/logins/sessions.ts';
import { type Html, html } from '../html.ts';

const parts = {
  '/account': 'People',
  '/account/keys': 'API keys',
  '/account/audit': 'Audit log',
  '/account/usage': 'Usage',
  '/account/profile': 'You',
} as const;

/** Tabs of the account pages, below their heading. */
export function accountTabs(shown: keyof typeof parts, { role }: Viewer): Html {
  const visible = Object.entries(parts).filter(([path]) => path !== '/account/keys' || role === 'ADMIN');
  return html`<ul class="tabs" aria-label="Pages of the account">${visible.map(
    ([path, word]) =>
      html`<li><a href="${path}"${path === shown ? html` aria-current="page"` : ''}>${word}</a></li>`,
  )}</ul>`;
}

export const roleWords = {
  ADMIN: 'Admin: manages members and keys',
  READ_WRITE: 'Editor: changes things',
  READ_RUN: 'Runner: runs checks',
  READ_ONLY: 'Viewer: reads only',
} as const;

export const roleChoices = Object.entries(roleWords)
  .map(([value, word]) => ({ value, word }))
  .toReversed();

/** Returns the short name of a role. */
export function roleName(role: keyof typeof roleWords): string {
  return roleWords[role].split(':')[0] ?? role;
}
