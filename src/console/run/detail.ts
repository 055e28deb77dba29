import type { z } from 'zod';
import { AgenticDetail } from '../../checks/agentic/detail.ts';
import { DnsDetail } from '../../checks/dns/detail.ts';
import { HeartbeatDetail } from '../../checks/heartbeat/check.ts';
import { HttpDetail } from '../../checks/http/detail.ts';
import { IcmpDetail } from '../../checks/icmp/detail.ts';
import { PlaywrightDetail } from '../../checks/playwright/detail.ts';
import { BrowserDetail, MultiStepDetail } from '../../checks/script/detail.ts';
import { TcpDetail } from '../../checks/tcp/detail.ts';
import type { CheckResult } from '../../protocol/results/check-result.ts';
import { agenticSections } from '../agentic/run-section.ts';
import { block, section } from '../elements/text.ts';
import { type Phase, waterfall } from '../elements/waterfall.ts';
import { type Content, html } from '../html.ts';
import { assertionSection } from './assertions.ts';
import { dnsSections, httpSections, icmpSections, pingSection, tcpSections } from './exchange.ts';
import { logSection } from './log.ts';
import { dnsPhases, httpPhases, inARow, tcpPhases, withAgentShare } from './phases.ts';
import { scriptSections, suiteSections } from './scripts.ts';
import { addressSection } from './summary/addresses.ts';
import { conversationSection } from './summary/conversation.ts';
import { type SummarisedDetail, summarisedDetail, summarySections } from './summary/summary.ts';
import { isWayDrawn } from './summary/way.ts';

/** What a run found out, in the order people ask for it; `log` stands at the end of the page. */
export interface DetailParts {
  readonly sections: readonly Content[];
  readonly log: Content;
}

/**
 * The detail of a result. It is recognised by its shape: an agent that is older or newer than this build may
 * have written it, and what is not recognised is shown as it is.
 */
export function detailParts(result: CheckResult): DetailParts {
  const {
    apiCheckResult,
    browserCheckResult,
    multiStepCheckResult,
    playwrightCheckResult,
    agenticCheckResult,
  } = result;
  const summarised = summarisedDetail(result);
  if (summarised) return summaryParts(result, summarised);
  if (apiCheckResult !== null) return probeParts(result, apiCheckResult);
  const browser = BrowserDetail.safeParse(browserCheckResult);
  if (browser.success)
    return { sections: scriptSections(browser.data), log: logSection(browser.data.jobLog) };
  const script = MultiStepDetail.safeParse(multiStepCheckResult);
  if (script.success) return { sections: scriptSections(script.data), log: logSection(script.data.jobLog) };
  const suite = PlaywrightDetail.safeParse(playwrightCheckResult);
  if (suite.success) return { sections: suiteSections(suite.data), log: logSection(suite.data.jobLog) };
  const agentic = AgenticDetail.safeParse(agenticCheckResult);
  if (agentic.success) return { sections: agenticSections(agentic.data), log: '' };
  return unknown(browserCheckResult ?? multiStepCheckResult ?? playwrightCheckResult ?? agenticCheckResult);
}

function summaryParts(result: CheckResult, { summary, detail }: SummarisedDetail): DetailParts {
  const judged = Judged.safeParse(detail);
  // The way is drawn, and needs no list.
  const own = isWayDrawn(result) ? [] : summarySections(summary);
  const phases = inARow(summary.phases.map(({ name, kind, lengthMs }) => [name, kind, lengthMs]));
  return parts(result, judged.data ?? { assertions: [], jobLog: null }, {
    phases,
    own: [conversationSection(summary.conversation), ...own],
  });
}

function probeParts(result: CheckResult, detail: unknown): DetailParts {
  const http = HttpDetail.safeParse(detail);
  if (http.success)
    return parts(result, http.data, { phases: httpPhases(http.data), own: httpSections(http.data) });
  const tcp = TcpDetail.safeParse(detail);
  if (tcp.success)
    return parts(result, tcp.data, { phases: tcpPhases(tcp.data), own: tcpSections(tcp.data) });
  const dns = DnsDetail.safeParse(detail);
  if (dns.success)
    return parts(result, dns.data, { phases: dnsPhases(dns.data), own: dnsSections(dns.data) });
  const icmp = IcmpDetail.safeParse(detail);
  if (icmp.success) return parts(result, icmp.data, { phases: [], own: icmpSections(icmp.data) });
  const ping = HeartbeatDetail.safeParse(detail);
  if (ping.success) return { sections: [pingSection(ping.data)], log: '' };
  return unknown(detail);
}

/** What details of all probes hold. */
const Judged = HttpDetail.pick({ assertions: true, jobLog: true, addresses: true });
type Judged = z.output<typeof Judged>;

function parts(
  result: CheckResult,
  { assertions, jobLog, addresses }: Judged,
  { phases, own }: { readonly phases: readonly Phase[]; readonly own: readonly Content[] },
): DetailParts {
  return {
    sections: [
      addressSection(addresses),
      phases.length === 0 ? '' : timing(result, phases),
      assertionSection(assertions),
      ...own,
    ],
    log: logSection(jobLog ? [...jobLog.setup, ...jobLog.request, ...jobLog.teardown] : []),
  };
}

function timing(result: CheckResult, phases: readonly Phase[]): Content {
  const doubt = result.isTimingDoubtful
    ? html`<p class="notice">The agent was late itself: these times may be too long. They made nothing fail.</p>`
    : '';
  const share =
    result.agentOverheadMs > 0
      ? ' What the agent itself took is apart, and no part of the response time.'
      : '';
  return section(
    'Where the time went',
    html`${doubt}${waterfall('Phases of the run', withAgentShare(phases, result.agentOverheadMs))}<p class="hint">These are times of the wire.${share}</p>`,
    'timing',
  );
}

function unknown(detail: unknown): DetailParts {
  if (detail === null || detail === undefined) return { sections: [], log: '' };
  return {
    sections: [section('Detail', block('Detail of the result', JSON.stringify(detail, null, 2)))],
    log: '',
  };
}
