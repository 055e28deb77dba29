import { counted, instant } from '../elements/format.ts';
import { stateBadge } from '../elements/state.ts';
import { type Content, html } from '../html.ts';
import type { Shown } from './appearance.ts';

const dayMs = 86_400_000;
/** People need some days to get another one. */
const soonDays = 30;

/** When a certificate ends, and whether somebody has to do something about it. */
export function certificateEnd({ expiresAt }: Shown, now: number): Content {
  if (typeof expiresAt !== 'string') return undefined;
  const leftMs = Date.parse(expiresAt) - now;
  if (leftMs <= 0) return html`${stateBadge('failed', 'Expired')} ${instant(expiresAt)}`;
  const days = Math.floor(leftMs / dayMs);
  const left = days === 0 ? 'Ends within a day' : `Ends in ${counted(days, 'day')}`;
  return days < soonDays
    ? html`${stateBadge('degraded', left)} ${instant(expiresAt)}`
    : html`${instant(expiresAt)} <span class="soft">${left.toLowerCase()}</span>`;
}
