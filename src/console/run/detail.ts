import { mask } from '@picket/checks/judging/credential-headers.ts';
import type { DetailSummary, SummaryPhase } from '@picket/checks/summary/detail-summary.ts';
import { type CheckResult, detailOf, summaryOfResult } from '@picket/protocol/results/check-result.ts';
import { type Phase, waterfall } from '../elements/charts/waterfall.ts';
import { copyBox } from '../elements/copy.ts';
import { shortened } from '../elements/format.ts';
import { icon } from '../elements/icon.ts';
import { block, section, visible } from '../elements/text.ts';
import { type Content, html } from '../html.ts';
import { curlOf } from './curl.ts';
import { assertionSection } from './summary/assertions.ts';
import { logSection } from './summary/log.ts';
import type { EarlierPath } from './summary/path.ts';
import { summarySection } from './summary/section.ts';

/** The findings of a run, in the usual order of interest; `log` is at the end of the page. */
export interface DetailParts {
  readonly sections: readonly Content[];
  readonly log: Content;
}

/**
 * Shows the detail of a result. A detail of another build that does not match its type is shown unchanged.
 *
 * @param run the summary if already known, and the earlier path to compare the path with.
 */
export function detailParts(
  result: CheckResult,
  run: { readonly summary: DetailSummary | undefined; readonly earlierPath?: EarlierPath | undefined } = {
    summary: summaryOfResult(result),
  },
): DetailParts {
  const { summary, earlierPath } = run;
  const detail = detailOf(result);
  if (!summary) return { sections: detail === null ? [] : [unknown(detail)], log: '' };
  const { addresses, phases = [], assertions = [], sections, log = [] } = summary;
  return {
    sections: [
      addresses ? summarySection(addresses) : '',
      timing(result, phases),
      assertionSection(assertions),
      ...sections.map((one) =>
        summarySection(one, earlierPath, one.id === 'request' ? curlPart(summary) : ''),
      ),
    ],
    log: logSection(log),
  };
}

/** Shows the request as a command, for browsers without scripts, too. */
function curlPart(summary: DetailSummary): Content {
  const command = curlOf(summary);
  if (command === undefined) return '';
  const hint = command.includes(mask)
    ? html`<p class="hint">Replace <code>${mask}</code> by the secrets: the service does not have them.</p>`
    : '';
  return html`<details id="curl"><summary>As a curl command</summary>${copyBox(command, 'Request as a curl command')}${hint}</details>`;
}

/** Copies the same command; empty for runs without an HTTP request. It needs the section of the request on the page. */
export function curlButton(summary: DetailSummary | undefined): Content {
  if (curlOf(summary) === undefined) return '';
  return html`<button class="copy" type="button" data-copy-from="#curl pre">${icon('copy')}Copy as curl</button>`;
}

function timing({ isTimingDoubtful, agentOverheadMs }: CheckResult, parts: readonly SummaryPhase[]): Content {
  const phases = inARow(parts);
  if (phases.length === 0) return '';
  const doubt = isTimingDoubtful
    ? html`<p class="notice">The agent was delayed, so these times may be too long. They caused no failure.</p>`
    : '';
  const share =
    agentOverheadMs > 0
      ? ' The agent’s own time is shown separately and is not part of the response time.'
      : '';
  return section(
    'Timing',
    html`${doubt}${waterfall('Phases of the run', withAgentShare(phases, agentOverheadMs))}<p class="hint">Measured on the wire.${share}</p>`,
    'timing',
  );
}

/** Lays out phases one after the other; omits those without duration. */
function inARow(phases: readonly SummaryPhase[]): Phase[] {
  let startMs = 0;
  return phases.flatMap(({ name, kind, lengthMs }) => {
    if (lengthMs <= 0) return [];
    const phase: Phase = { name: shortened(visible(name), 22), kind, startMs, lengthMs };
    startMs += lengthMs;
    return [phase];
  });
}

/** Adds the agent's own time, shown apart because it is not part of the response time. */
function withAgentShare(phases: readonly Phase[], overheadMs: number): Phase[] {
  const last = phases.at(-1);
  if (!last || overheadMs <= 0) return [...phases];
  const startMs = last.startMs + last.lengthMs;
  return [...phases, { name: 'Agent overhead', kind: 'agent', startMs, lengthMs: overheadMs, isApart: true }];
}

function unknown(detail: unknown): Content {
  return section('Detail', block('Details of the result', JSON.stringify(detail, null, 2)));
}
