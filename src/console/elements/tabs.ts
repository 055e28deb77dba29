import { type Html, html } from '../html.ts';

/** Tabs of one area, below their heading. */
export function tabs(
  label: string,
  parts: readonly { readonly path: string; readonly title: string }[],
  shown: string,
): Html {
  return html`<ul class="tabs" aria-label="${label}">${parts.map(
    ({ path, title }) =>
      html`<li><a href="${path}"${path === shown ? html` aria-current="page"` : ''}>${title}</a></li>`,
  )}</ul>`;
}

const statusParts = [
  { path: '/pages/status', title: 'Status pages' },
  { path: '/pages/dashboards', title: 'Dashboards' },
  { path: '/pages/incidents', title: 'Incidents' },
  { path: '/pages/maintenance', title: 'Maintenance' },
  { path: '/pages/services', title: 'Services' },
];

/** Tabs of the customer-facing pages. */
export function statusTabs(shown: string): Html {
  return tabs('Customer view', statusParts, shown);
}
