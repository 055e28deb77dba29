import { shareOfPercent } from '@picket/lib/figures/share.ts';
import { type Coverage, measuredShare } from '@picket/protocol/runs/coverage.ts';
import { countText, duration, percent } from '../elements/format.ts';
import { table } from '../elements/table.ts';
import { section, visible } from '../elements/text.ts';
import { type Content, type Html, html } from '../html.ts';
import { hrefOf, type Selection } from './range.ts';
import { type Place, percentileOf, type Whole } from './series.ts';

/** Availability with its coverage, and percentiles, in one line. */
export function figureLine({ row, coverage }: Whole, time: readonly string[]): Html {
  const note = coverageWords(coverage);
  return html`<dl class="figures"><div><dt>Available</dt><dd>${percentText(row['availability'])}${
    note === '' ? '' : html` <span class="small soft">${note}</span>`
  }</dd></div>${time.map(
    (key) => html`<div><dt>${percentileOf(key)}</dt><dd>${timeOf(row[key])}</dd></div>`,
  )}</dl>`;
}

function timeOf(value: unknown): string {
  return typeof value === 'number' ? duration(value) : '–';
}

function percentText(value: unknown): string {
  return typeof value === 'number' ? percent(shareOfPercent(value)) : '–';
}

/** Describes the measured share of the due slots, and reasons for the rest. */
function coverageWords(coverage: Coverage): string {
  const { due, open, missed, errors, maintenance } = coverage;
  const measured = measuredShare(coverage);
  if (measured === null) return '';
  const runs = countText(due - open);
  if (measured === 1) return `all ${runs} runs measured`;
  const reasons = [
    ...Object.entries(missed).map(
      ([reason, count]) => `${countText(count)} missed: ${reason.replaceAll('-', ' ')}`,
    ),
    ...(errors > 0 ? [`${countText(errors)} not judged`] : []),
    ...(maintenance > 0 ? [`${countText(maintenance)} in maintenance`] : []),
  ];
  return `${percent(measured)} of ${runs} runs measured (${reasons.join(', ')})`;
}

/** Compares the locations of a check; each leads to the page with only this location. */
export function placeSection(
  places: readonly Place[],
  { time, selection }: { readonly time: readonly string[]; readonly selection: Selection },
): Content {
  if (places.length < 2) return '';
  return section(
    'By location',
    table<Place>({
      caption: 'Availability and response time by location',
      rows: places,
      empty: '',
      columns: [
        {
          title: 'Location',
          cell: ({ location }) =>
            html`<a href="${hrefOf(selection, { location })}"${selection.location === location ? html` aria-current="true"` : ''}>${visible(location)}</a>`,
        },
        { title: 'Available', isNumber: true, cell: ({ row }) => percentText(row['availability']) },
        { title: 'Measured', isNumber: true, cell: ({ coverage }) => percentText(coverage.percent) },
        ...time.map((key) => ({
          title: percentileOf(key),
          isNumber: true,
          cell: ({ row }: Place) => timeOf(row[key]),
        })),
      ],
    }),
  );
}
