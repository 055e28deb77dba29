import { daysLeft, daysLeftText } from '@picket/lib/figures/days-left.ts';
import { instant } from '../elements/format.ts';
import { stateBadge } from '../elements/state.ts';
import { type Content, html } from '../html.ts';
import type { Shown } from './appearance.ts';

/** People need some days to get another one. */
const soonDays = 30;

/** When a certificate ends, and whether somebody has to do something about it. */
export function certificateEnd({ expiresAt }: Shown, now: number): Content {
  if (typeof expiresAt !== 'string') return undefined;
  const days = daysLeft(Date.parse(expiresAt), now);
  const left = `${days < 0 ? 'Expired' : 'Expires'} ${daysLeftText(days)}`;
  if (days < 0) return html`${stateBadge('failed', left)} ${instant(expiresAt)}`;
  return days < soonDays
    ? html`${stateBadge('degraded', left)} ${instant(expiresAt)}`
    : html`${instant(expiresAt)} <span class="soft">${left.toLowerCase()}</span>`;
}
