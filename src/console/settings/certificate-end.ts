import { daysLeft, daysLeftText } from '@picket/lib/figures/days-left.ts';
import { instant } from '../elements/format.ts';
import { stateBadge } from '../elements/state.ts';
import { type Content, html } from '../html.ts';
import type { Shown } from './appearance.ts';

/** Renewal takes some days. */
const soonDays = 30;

/** Shows when a certificate expires, and whether action is needed. */
export function certificateEnd({ expiresAt }: Shown, now: number): Content {
  if (typeof expiresAt !== 'string') return undefined;
  const days = daysLeft(Date.parse(expiresAt), now);
  const left = `${days < 0 ? 'Expired' : 'Expires'} ${daysLeftText(days)}`;
  if (days < 0) return html`${stateBadge('failed', left)} ${instant(expiresAt)}`;
  return days < soonDays
    ? html`${stateBadge('degraded', left)} ${instant(expiresAt)}`
    : html`${instant(expiresAt)} <span class="soft">${left.toLowerCase()}</span>`;
}
