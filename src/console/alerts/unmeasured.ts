import { monitoringGapRoutes } from '@picket/protocol/alerts/monitoring-gap.ts';
import { ago, shortened } from '../elements/format.ts';
import { table } from '../elements/table.ts';
import { type Content, html, path } from '../html.ts';
import type { PageCall } from '../page.ts';

/** Shows checks that are not measured at one of their locations; empty if all are. */
export async function unmeasuredSection({ api, store }: PageCall, now: number): Promise<Content> {
  const gaps = await api.call(monitoringGapRoutes.listMonitoringGaps, { query: { limit: 100 } });
  if (gaps.length === 0) return '';
  const checks = await store.checks.findMany(gaps.map(({ checkId }) => checkId));
  return html`<section><h2>Not measured</h2>${table({
    caption: 'Checks that are not measured at a location',
    rows: gaps,
    empty: '',
    columns: [
      {
        title: 'Check',
        cell: ({ checkId }) =>
          html`<a href="${path`/checks/${checkId}`}"><b>${shortened(checks.get(checkId)?.name ?? checkId, 120)}</b></a>`,
      },
      { title: 'Location', cell: ({ location }) => html`<code>${shortened(location, 64)}</code>` },
      { title: 'Reason and action', cell: ({ explanation }) => shortened(explanation, 300) },
      { title: 'Since', cell: ({ since }) => ago(Date.parse(since), now) },
    ],
  })}</section>`;
}
