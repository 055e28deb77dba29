import type { SummaryAssertion } from '@picket/checks/summary/detail-summary.ts';
import { shortened } from '../../elements/format.ts';
import { stateBadge } from '../../elements/state.ts';
import { table } from '../../elements/table.ts';
import { section, visible } from '../../elements/text.ts';
import { type Html, html } from '../../html.ts';

/** Shows expected and actual values, failed assertions first. */
export function assertionSection(assertions: readonly SummaryAssertion[]): Html | '' {
  if (assertions.length === 0) return '';
  const rows = assertions.toSorted((left, right) => Number(left.isMet) - Number(right.isMet));
  return section(
    'Assertions',
    table<SummaryAssertion>({
      caption: 'Assertions, expected and found',
      rows,
      empty: '',
      columns: [
        {
          title: 'Outcome',
          cell: ({ isMet }) => (isMet ? stateBadge('passed', 'Passed') : stateBadge('failed', 'Failed')),
        },
        {
          title: 'Subject',
          cell: ({ subject, property }) =>
            html`${visible(shortened(subject, 300))}${property ? html` <code>${visible(shortened(property, 120))}</code>` : ''}`,
        },
        {
          title: 'Expected',
          cell: ({ comparison, expected }) =>
            html`${comparison} <code>${visible(shortened(expected, 200))}</code>`,
        },
        {
          title: 'Found',
          cell: ({ found, error }) =>
            html`<code>${visible(shortened(found, 300))}</code>${error === null ? '' : html`<p class="small soft">${visible(shortened(error, 300))}</p>`}`,
        },
      ],
    }),
    'assertions',
  );
}
