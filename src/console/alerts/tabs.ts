import { type Html, html } from '../html.ts';

const parts = {
  '/alerts': 'Open',
  '/alerts/notifications': 'Notifications',
  '/alerts/channels': 'Channels',
} as const;

/** Tabs of the alert pages, below their heading. */
export function alertTabs(shown: keyof typeof parts): Html {
  return html`<ul class="tabs" aria-label="Pages of alerts">${Object.entries(parts).map(
    ([path, word]) =>
      html`<li><a href="${path}"${path === shown ? html` aria-current="page"` : ''}>${word}</a></li>`,
  )}</ul>`;
}
