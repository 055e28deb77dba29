import { TracerouteDetail, type TracerouteHop } from '../../../checks/traceroute/detail.ts';
import { targetWords } from '../../../checks/traceroute/forwarding.ts';
import { reasonWords } from '../../../checks/traceroute/summary.ts';
import { shareOfPercent } from '../../../lib/figures/share.ts';
import { type CheckResult, checkResultRoutes } from '../../../protocol/results/check-result.ts';
import { duration, instant, percent } from '../../elements/format.ts';
import { facts, table } from '../../elements/table.ts';
import { section, visible } from '../../elements/text.ts';
import { type Content, type Html, html, path } from '../../html.ts';
import type { PageCall } from '../../page.ts';

type Response = NonNullable<TracerouteDetail['response']>;

/** A hop, with what another run saw at its place. */
interface ShownHop extends TracerouteHop {
  /** Who was there then, where that was somebody else. */
  readonly before: string | null;
}

const dayMs = 86_400_000;
const barWidth = 120;

/** The way that a traceroute monitor found, drawn hop by hop; nothing for other checks. */
export async function waySection(call: PageCall, result: CheckResult): Promise<Content> {
  const detail = detailOf(result);
  if (!detail?.response) return '';
  const { request, response } = detail;
  const earlier = await earlierRun(call, result);
  const before = earlier && detailOf(earlier)?.response;
  const hops = response.hops.map((hop, index) => ({ ...hop, before: changed(hop, before?.hops[index]) }));
  const { finalHopLatency: latency, packetLoss, destinationPort } = response;
  const probes = request.port === null ? request.protocol : `${request.protocol}, port ${request.port}`;
  return section(
    'The way to the target',
    html`${facts([
      ['Target', html`<code>${visible(request.url)}</code>`],
      ['Address', response.resolvedIp],
      ['Probes', `${probes}, ${request.probesPerHop} for each hop`],
      ['Answers', answerWords(response)],
      ['Port', destinationPort],
      ['Loss at the target', packetLoss === null ? '' : percent(shareOfPercent(packetLoss))],
      [
        'Round trip',
        latency ? `${duration(latency.avg)} (${duration(latency.best)} to ${duration(latency.worst)})` : '',
      ],
    ])}${changeNotice(hops, earlier)}${hopTable(hops, response)}
<p class="hint">Bars go from the quickest to the slowest answer; the mark is their average. Many routers answer rarely or never: what they leave out is not lost on the way.</p>`,
    'way',
  );
}

/** Whether the page of a run draws a way. */
export function isWayDrawn(result: CheckResult): boolean {
  return Boolean(detailOf(result)?.response);
}

function detailOf({ tracerouteCheckResult }: CheckResult): TracerouteDetail | undefined {
  return TracerouteDetail.safeParse(tracerouteCheckResult).data;
}

/** The run before at the same location that found a way. */
async function earlierRun({ api }: PageCall, result: CheckResult): Promise<CheckResult | undefined> {
  const to = result.created_at;
  const list = await api.call(checkResultRoutes.listCheckResults, {
    params: { checkId: result.checkId },
    query: { from: new Date(Date.parse(to) - dayMs).toISOString(), to, limit: 20 },
  });
  return list.find((one) => {
    const isOther = one.id !== result.id && one.runLocation === result.runLocation;
    return isOther && isWayDrawn(one);
  });
}

/** Who was at the place of a hop, where it was somebody else. A silent hop says nothing. */
function changed(now: TracerouteHop, before: TracerouteHop | undefined): string | null {
  if (!before || before.ips.length === 0 || now.ips.length === 0) return null;
  return now.ips.some((ip) => before.ips.includes(ip)) ? null : before.ips.join(', ');
}

function changeNotice(hops: readonly ShownHop[], earlier: CheckResult | undefined): Content {
  if (!earlier) return '';
  const others = hops.filter(({ before }) => before !== null).length;
  const run = html`<a href="${path`/checks/${earlier.checkId}/runs/${earlier.id}`}">run before</a> (${instant(earlier.created_at)})`;
  return others === 0
    ? html`<p>The same way as in the ${run}.</p>`
    : html`<p class="notice">Another way than in the ${run}: ${others} ${others === 1 ? 'hop is another router' : 'hops are other routers'}.</p>`;
}

function answerWords(response: Response): Content {
  const { destinationReached, truncationReason, lastHop } = response;
  if (destinationReached) return targetWords(response);
  const last = lastHop
    ? `last heard of hop ${lastHop.hopNumber} (${lastHop.ip ?? 'unknown'})`
    : 'nothing answered';
  return html`<span class="error">no: ${reasonWords(truncationReason)}; ${last}</span>`;
}

function hopTable(hops: readonly ShownHop[], { destinationReached, totalHops }: Response): Html {
  const longestMs = Math.max(0.001, ...hops.map(({ rtt }) => rtt?.worst ?? 0));
  return table<ShownHop>({
    caption: 'Hops on the way, the nearest first',
    rows: hops,
    empty: 'Not one hop was asked.',
    columns: [
      { title: 'Hop', cell: ({ hopNumber }) => hopNumber, isNumber: true },
      {
        title: 'Who',
        cell: (hop) => whoCell(hop, destinationReached ? hop.hopNumber - totalHops : -1),
      },
      {
        title: 'Answered',
        cell: ({ received, sent }) => `${received} of ${sent}`,
        isNumber: true,
      },
      {
        title: 'Average',
        cell: ({ rtt }) => (rtt ? duration(rtt.avg) : '–'),
        isNumber: true,
      },
      { title: 'Round trips', cell: (hop) => latencyBar(hop, longestMs) },
    ],
  });
}

function whoCell({ mainIp, mainHost, ips, error, before }: ShownHop, hopsBehindTarget: number): Html {
  if (ips.length === 0) return html`<span class="soft">no reply</span>`;
  const others = ips.filter((ip) => ip !== mainIp);
  return html`<code>${mainIp}</code>${hopsBehindTarget < 0 ? '' : hopsBehindTarget === 0 ? html` <b>target</b>` : html` <b>behind the target</b>`}${
    mainHost === null ? '' : html`<br><span class="soft">${visible(mainHost)}</span>`
  }${others.length > 0 ? html`<br><span class="soft">also ${others.join(', ')}</span>` : ''}${
    error === null ? '' : html`<br><span class="error">${visible(error)}</span>`
  }${before === null ? '' : html`<br><span class="soft">before: ${before}</span>`}`;
}

/** From the quickest to the slowest answer of a hop, all hops on one scale. */
function latencyBar({ rtt }: ShownHop, longestMs: number): Content {
  if (!rtt) return '';
  const at = (ms: number) => (ms / longestMs) * (barWidth - 4);
  const [left, width] = [at(rtt.best), Math.max(3, at(rtt.worst) - at(rtt.best))];
  const spoken = `${duration(rtt.best)} to ${duration(rtt.worst)}, ${duration(rtt.avg)} on average`;
  return html`<svg class="hop-bar" role="img" aria-label="${spoken}" viewBox="0 0 ${barWidth} 16" width="${barWidth}" height="16"><title>${spoken}</title><path class="grid" d="M0 8h${barWidth}"/><rect class="phase-tcp" x="${left.toFixed(1)}" y="3" width="${width.toFixed(1)}" height="10" rx="2"/><path class="hop-mark" d="M${(at(rtt.avg) + 1).toFixed(1)} 0v16"/></svg>`;
}
