import { shortened } from '../elements/format.ts';
import { stateBadge } from '../elements/state.ts';
import { table } from '../elements/table.ts';
import { section, valueText, visible } from '../elements/text.ts';
import { type Html, html } from '../html.ts';

interface Evaluated {
  readonly source: string;
  readonly property: string;
  readonly comparison: string;
  readonly target: string | number;
  readonly actual?: unknown;
  readonly error: string | null;
}

/** What was expected and what was found, those that did not hold first. */
export function assertionSection(assertions: readonly Evaluated[]): Html | '' {
  if (assertions.length === 0) return '';
  const rows = [...assertions].sort(
    (left, right) => Number(left.error === null) - Number(right.error === null),
  );
  return section(
    'Assertions',
    table<Evaluated>({
      caption: 'Assertions, expected and found',
      rows,
      empty: '',
      columns: [
        {
          title: 'Outcome',
          cell: ({ error }) =>
            error === null ? stateBadge('passed', 'Holds') : stateBadge('failed', 'Does not hold'),
        },
        {
          title: 'What',
          cell: ({ source, property }) =>
            html`${words(source)}${property ? html` <code>${visible(shortened(property, 120))}</code>` : ''}`,
        },
        {
          title: 'Expected',
          cell: ({ comparison, target }) =>
            html`${words(comparison)} <code>${visible(shortened(String(target), 200))}</code>`,
        },
        {
          title: 'Found',
          cell: ({ actual, error }) =>
            html`<code>${visible(shortened(valueText(actual), 300))}</code>${error === null ? '' : html`<p class="small soft">${visible(shortened(error, 300))}</p>`}`,
        },
      ],
    }),
  );
}

/** `STATUS_CODE` as people say it. */
function words(name: string): string {
  return name.toLowerCase().replaceAll('_', ' ');
}
