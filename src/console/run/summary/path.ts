import type { DetailSummary, SummaryHop } from '@picket/checks/summary/detail-summary.ts';
import {
  type CheckResult,
  checkResultRoutes,
  summaryOfResult,
} from '@picket/protocol/results/check-result.ts';
import { duration, instant } from '../../elements/format.ts';
import { table } from '../../elements/table.ts';
import { visible } from '../../elements/text.ts';
import { type Content, type Html, html, path } from '../../html.ts';
import type { PageCall } from '../../page.ts';

/** The network path found by the previous run at the same location. */
export interface EarlierPath {
  readonly result: CheckResult;
  readonly hops: readonly SummaryHop[];
}

/** A hop, with the routers of another run at the same position. */
interface ShownHop extends SummaryHop {
  /** Routers of the other run; null if they are the same. */
  readonly before: string | null;
}

const dayMs = 86_400_000;
const barWidth = 120;

/** Returns the previous run at the same location with a path to the target; undefined if the run itself has no path. */
export async function findEarlierPath(
  { api }: PageCall,
  result: CheckResult,
  summary: DetailSummary | undefined,
): Promise<EarlierPath | undefined> {
  if (!hopsOf(summary)) return undefined;
  const to = result.created_at;
  const list = await api.call(checkResultRoutes.listCheckResults, {
    params: { checkId: result.checkId },
    query: { from: new Date(Date.parse(to) - dayMs).toISOString(), to, limit: 20 },
  });
  for (const one of list) {
    const isOther = one.id !== result.id && one.runLocation === result.runLocation;
    const hops = isOther ? hopsOf(summaryOfResult(one)) : undefined;
    if (hops) return { result: one, hops };
  }
  return undefined;
}

function hopsOf(summary: DetailSummary | undefined): readonly SummaryHop[] | undefined {
  return summary?.sections.find((one) => one.path)?.path;
}

/** Shows the path to a target, hop by hop. */
export function pathPart(hops: readonly SummaryHop[], earlier: EarlierPath | undefined): Content {
  const shown = hops.map((hop, index) => ({ ...hop, before: changed(hop, earlier?.hops[index]) }));
  return html`${earlier ? changeNotice(shown, earlier.result) : ''}${hopTable(shown)}
<p class="hint">Bars go from the quickest to the slowest response; the mark is the average. Many routers respond rarely or never: a missing response is not a lost packet.</p>`;
}

/** Returns the previous routers of a hop if they differ. Silent hops do not count. */
function changed({ addresses: now }: SummaryHop, before: SummaryHop | undefined): string | null {
  if (!before || before.addresses.length === 0 || now.length === 0) return null;
  return now.some((address) => before.addresses.includes(address)) ? null : before.addresses.join(', ');
}

function changeNotice(hops: readonly ShownHop[], { id, checkId, created_at: at }: CheckResult): Content {
  const others = hops.filter(({ before }) => before !== null).length;
  const run = html`<a href="${path`/checks/${checkId}/runs/${id}`}">previous run</a> (${instant(at)})`;
  return others === 0
    ? html`<p>The same path as in the ${run}.</p>`
    : html`<p class="notice">A different path than in the ${run}: ${others} ${others === 1 ? 'hop is a different router' : 'hops are different routers'}.</p>`;
}

function hopTable(hops: readonly ShownHop[]): Html {
  const longestMs = Math.max(0.001, ...hops.map(({ latency }) => latency?.worst ?? 0));
  return table<ShownHop>({
    caption: 'Hops on the path, the nearest first',
    rows: hops,
    empty: 'No hop was probed.',
    columns: [
      { title: 'Hop', cell: ({ number }) => number, isNumber: true },
      { title: 'Router', cell: routerCell },
      { title: 'Responses', cell: ({ received, sent }) => `${received} of ${sent}`, isNumber: true },
      { title: 'Average', cell: ({ latency }) => (latency ? duration(latency.avg) : '–'), isNumber: true },
      { title: 'Round trips', cell: (hop) => latencyBar(hop, longestMs) },
    ],
  });
}

function routerCell({ addresses, host, error, before, mark }: ShownHop): Html {
  const [main, ...others] = addresses;
  if (main === undefined) return html`<span class="soft">no response</span>`;
  const more = [
    host === null ? '' : html`<br><span class="soft">${visible(host)}</span>`,
    others.length === 0 ? '' : html`<br><span class="soft">also ${others.join(', ')}</span>`,
    error === null ? '' : html`<br><span class="error">${visible(error)}</span>`,
    before === null ? '' : html`<br><span class="soft">before: ${before}</span>`,
  ];
  return html`<code class="wrap">${main}</code>${mark === null ? '' : html` <b>${mark}</b>`}${more}`;
}

/** Draws the range from the fastest to the slowest response of a hop, all hops on one scale. */
function latencyBar({ latency }: ShownHop, longestMs: number): Content {
  if (!latency) return '';
  const at = (ms: number) => (ms / longestMs) * (barWidth - 4);
  const [left, width] = [at(latency.best), Math.max(3, at(latency.worst) - at(latency.best))];
  const spoken = `${duration(latency.best)} to ${duration(latency.worst)}, ${duration(latency.avg)} on average`;
  return html`<svg class="hop-bar" role="img" aria-label="${spoken}" viewBox="0 0 ${barWidth} 16" width="${barWidth}" height="16"><title>${spoken}</title><path class="grid" d="M0 8h${barWidth}"/><rect class="phase-tcp" x="${left.toFixed(1)}" y="3" width="${width.toFixed(1)}" height="10" rx="2"/><path class="hop-mark" d="M${(at(latency.avg) + 1).toFixed(1)} 0v16"/></svg>`;
}
