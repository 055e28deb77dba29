import { sloRoutes } from '@picket/protocol/results/slo.ts';
import { ago, shortened } from '../elements/format.ts';
import { table } from '../elements/table.ts';
import { type Content, html } from '../html.ts';
import type { PageCall } from '../page.ts';

/** Shows objectives whose error budget burns too fast; empty if there are no such objectives. */
export async function burningSection({ api }: PageCall, now: number): Promise<Content> {
  const burns = await api.call(sloRoutes.listSloBurns, { query: { limit: 100 } });
  if (burns.length === 0) return '';
  return html`<section><h2>Error budgets</h2>${table({
    caption: 'Objectives whose error budget burns too fast',
    rows: burns,
    empty: '',
    columns: [
      { title: 'Objective', cell: ({ name }) => html`<b>${shortened(name, 120)}</b>` },
      { title: 'Failures', cell: ({ explanation }) => explanation },
      { title: 'Since', cell: ({ since }) => ago(Date.parse(since), now) },
    ],
  })}</section>`;
}
