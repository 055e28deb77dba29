import type { SlotCounts } from '../../../protocol/runs/slot.ts';
import { percent } from '../elements/format.ts';
import { reasonWords } from '../elements/slot-bar.ts';
import { facts, table } from '../elements/table.ts';
import { type Html, html } from '../html.ts';

interface ReasonRow {
  readonly reason: string;
  readonly kind: 'missed' | 'taken back';
  readonly day: number;
  readonly week: number;
}

/** How much of what was due was measured, and why the rest was not. */
export function slotsSection(day: SlotCounts, week: SlotCounts): Html {
  const rows = [
    ...rowsOf('missed', day.missed, week.missed),
    ...rowsOf('taken back', day.cancelled, week.cancelled),
  ];
  return html`<section><h2>Runs that were due</h2>${facts([
    ['Last 24 hours', words(day)],
    ['Last 7 days', words(week)],
  ])}
<div class="after">${table({
    caption: 'Runs that were not measured, by reason',
    rows,
    empty:
      week.due === 0
        ? 'No run was due here in the last 7 days.'
        : 'Every run that was due in the last 7 days was measured, or is on its way.',
    columns: [
      {
        title: 'Why it was not measured',
        cell: ({ reason }) =>
          html`<code>${reason}</code><br><span class="small">${reasonWords(reason)}</span>`,
      },
      { title: 'What became of it', cell: ({ kind }) => kind },
      { title: '24 hours', isNumber: true, cell: ({ day: count }) => count.toLocaleString('en-US') },
      { title: '7 days', isNumber: true, cell: ({ week: count }) => count.toLocaleString('en-US') },
    ],
  })}</div></section>`;
}

function words({ due, final, onTheirWay }: SlotCounts): string {
  if (due === 0) return 'none was due';
  const ended = due - onTheirWay;
  const share = ended === 0 ? '' : ` (${percent(final / ended)})`;
  return `${final.toLocaleString('en-US')} of ${ended.toLocaleString('en-US')} measured${share}`;
}

function rowsOf(
  kind: ReasonRow['kind'],
  day: Readonly<Record<string, number>>,
  week: Readonly<Record<string, number>>,
): ReasonRow[] {
  const reasons = [...new Set([...Object.keys(week), ...Object.keys(day)])];
  const rows = reasons.map((reason) => ({ reason, kind, day: day[reason] ?? 0, week: week[reason] ?? 0 }));
  return rows.filter((row) => row.week > 0 || row.day > 0).toSorted((left, right) => right.week - left.week);
}
