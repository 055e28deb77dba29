import { utcDay } from '@picket/lib/figures/time.ts';
import { type Coverage, coverageText, measuredShare } from '@picket/protocol/runs/coverage.ts';
import type { LocationCoverage } from '@picket/protocol/runs/location-coverage.ts';
import { reasonWords } from '../elements/charts/slot-bar.ts';
import { counted, countText, percent } from '../elements/format.ts';
import { table } from '../elements/table.ts';
import { type Html, html } from '../html.ts';

type Day = LocationCoverage['days'][number];

const barWidth = 10;
const barHeight = 32;

/**
 * Shows the measured share of the due slots of a location by day: the grey part of a bar was not measured. Days with
 * missing slots are also listed in a table, with the reasons.
 */
export function coverageSection({ days, coverage }: LocationCoverage, createdAt: string): Html {
  if (coverage.due === 0) return html``;
  const lacking = days.filter((day) => isLacking(day)).toReversed();
  const label = `Coverage of the last ${days.length} days, ${days[0]?.date} to ${days.at(-1)?.date}`;
  return html`<section><h2>Coverage of the last ${days.length} days</h2><p class="lead">${shareOf(coverage)} of the slots that were due were measured.</p>
<div class="day-bars location-days"><p class="hidden">${label}: ${lacking.length === 0 ? 'complete.' : `incomplete on ${countText(lacking.length)} of them.`}</p><svg viewBox="0 0 ${days.length * barWidth} ${barHeight}" preserveAspectRatio="none" aria-hidden="true">${days.map(
    (day, index) => bar(day, index * barWidth, createdAt),
  )}</svg><p class="ends small soft" aria-hidden="true"><span>${days[0]?.date}</span><span>${days.at(-1)?.date}</span></p></div>${
    lacking.length === 0
      ? ''
      : html`<details><summary>Incomplete days (${lacking.length})</summary>${table({
          caption: 'Days with missing measurements, newest first',
          rows: lacking,
          empty: '',
          columns: [
            { title: 'Day (UTC)', cell: ({ date }) => date },
            { title: 'Measured', isNumber: true, cell: (day) => shareOf(day.coverage) },
            { title: 'Due', isNumber: true, cell: (day) => countText(day.coverage.due) },
            { title: 'Main reason', cell: (day) => mainReason(day.coverage) },
          ],
        })}</details>`
  }</section>`;
}

function isLacking({ coverage }: Day): boolean {
  return coverage.due > 0 && coverageText(coverage) !== null;
}

function shareOf(coverage: Coverage): string {
  const part = measuredShare(coverage);
  return part === null ? '–' : percent(part);
}

function mainReason({ missed, errors }: Coverage): Html | string {
  const [reason] = Object.entries(missed).toSorted(([, left], [, right]) => right - left);
  if (errors > (reason?.[1] ?? 0)) return `${counted(errors, 'run')} could not be judged`;
  return reason
    ? html`<code>${reason[0]}</code><br><span class="small">${reasonWords(reason[0])}</span>`
    : '–';
}

function bar({ date, measurement, coverage }: Day, x: number, createdAt: string): Html {
  const rect = (kind: string, height: number, bottom: number) =>
    html`<rect class="day-${kind}" x="${x + 1}" y="${(barHeight - bottom - height).toFixed(1)}" width="${barWidth - 2}" height="${height.toFixed(1)}"/>`;
  const green = measurement === 'NONE' ? 0 : Math.max(2, (28 * (coverage.percent ?? 0)) / 100);
  const isBefore = date < utcDay(createdAt);
  const nothing = isBefore ? 'no data yet' : 'no runs were due';
  const said = coverage.due === 0 ? nothing : `${shareOf(coverage)} of ${countText(coverage.due)} measured`;
  const shapes = () => {
    if (coverage.due === 0) return isBefore ? '' : rect('announced', 3, 0);
    if (green === 0) return rect('unmeasured', 9, 0);
    return [rect('measured', green, 0), rect('unmeasured', 28 - green, green)];
  };
  return html`<g><title>${date}: ${said}</title><path class="hit" d="M${x} 0h${barWidth}v${barHeight}h-${barWidth}z"/>${shapes()}</g>`;
}
