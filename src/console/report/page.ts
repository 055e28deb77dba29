import { AppError } from '@picket/lib/errors.ts';
import { localTime } from '@picket/lib/time-zone.ts';
import { type CheckReport, reportingRoutes, reportRanges } from '@picket/protocol/results/reporting.ts';
import { namedWindow } from '@picket/service/results/reports/window.ts';
import { shortened } from '../elements/format.ts';
import { notice } from '../forms/action.ts';
import { type Html, html, withQuery } from '../html.ts';
import { heading } from '../layout.ts';
import type { Page, PageCall, View } from '../page.ts';
import { choiceOf, type ReportChoice, rangeWords } from './range.ts';
import { type ReportWindow, reportTable } from './table.ts';

const csvFile = 'report.csv';

/** Figures of checks over days, weeks or months: to read, to print, and as a table. */
export const reportPages: readonly Page[] = [
  {
    path: '/report',
    title: 'Report',
    navigation: { word: 'Report', icon: 'graph' },
    role: 'READ_ONLY',
    handler: showReport,
  },
  {
    path: '/report/:file',
    title: 'Report as a table',
    role: 'READ_ONLY',
    handler: async ({ api, query, reply, params }) => {
      if (params.file !== csvFile) throw new AppError('NOT_FOUND', 'The page does not exist.');
      const text = await api.call(reportingRoutes.getReportAsCsv, { query: choiceOf(query).query });
      await reply.type('text/csv; charset=utf-8').send(text);
      return 'answered';
    },
  },
];

async function showReport(call: PageCall): Promise<View> {
  const choice = choiceOf(call.query);
  const { tags } = await call.store.overviews.choices(call.viewer.accountId);
  const { fields, problem } = choice;
  const reports: CheckReport[] = await call.api.call(reportingRoutes.getReport, { query: choice.query });
  const main = html`${heading('Report')}${problem === null ? '' : notice(problem, 'refused')}
${form(choice, tags)}
<p class="lead">${periodOf(choice, call.clock.wallMs())}${fields.tag === '' ? '' : html`, checks tagged <span class="tag">${shortened(fields.tag, 60)}</span>`}.
<a class="button" href="${withQuery(`/report/${csvFile}`, fields)}">Download CSV</a></p>
${reportTable(reports, windowOf(choice, call.clock.wallMs()))}
<p class="small soft">Each due slot is counted once: the columns from "Evaluated" on add up to "Due". Slots are assigned to a period by due time, results by arrival
time. "Succeeded" is the share of evaluated runs that did not fail. Slots that were not measured count neither as success nor as failure.</p>`;
  return { main };
}

function windowOf({ fields: { range, zone }, query: { from, to } }: ReportChoice, now: number): ReportWindow {
  if (from !== undefined && to !== undefined) return { from, to };
  const named = namedWindow(range, now, zone);
  return { from: new Date(named.from).toISOString(), to: new Date(named.to).toISOString() };
}

/** On paper a named range needs its dates. */
function periodOf({ fields: { range, first, last, zone }, query }: ReportChoice, now: number): Html {
  if (query.from !== undefined) {
    return html`<b>${first} to ${last}</b>, whole days in ${zone}`;
  }
  const { from, to } = namedWindow(range, now, zone);
  const [begin, end] = [from, to].map((at) =>
    localTime(at, zone).toString({ smallestUnit: 'minute' }).replace('T', ' '),
  );
  return html`<b>${rangeWords[range]}</b>: ${begin} to ${end}, local time in ${zone}`;
}

function form({ fields }: ReportChoice, tags: readonly string[]): Html {
  const option = (value: string, word: string, chosen: string) =>
    html`<option value="${value}"${value === chosen ? html` selected` : ''}>${word}</option>`;
  return html`<form class="filter-row lead filters" method="get" action="/report">
<label>Range <select name="range">${reportRanges.map((one) => option(one, rangeWords[one], fields.range))}</select></label>
<label>or first day <input type="date" name="first" value="${fields.first}"></label>
<label>last day <input type="date" name="last" value="${fields.last}"></label>
<label>Time zone <input name="zone" value="${fields.zone}" placeholder="Europe/Berlin"></label>
<label>Tag <select name="tag">${option('', 'all checks', fields.tag)}${tags.map((tag) => option(tag, shortened(tag, 60), fields.tag))}</select></label>
<button class="button" type="submit">Show</button></form>`;
}
