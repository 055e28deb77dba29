import { percentText, shareOfPercent } from '@picket/lib/figures/share.ts';
import type { DetailSummary, SummaryHop } from '../summary/detail-summary.ts';
import { code, fact, took } from '../summary/parts.ts';
import { probeParts } from '../summary/probe-parts.ts';
import type { TracerouteDetail } from './detail.ts';
import { targetWords } from './forwarding.ts';

type Response = NonNullable<TracerouteDetail['response']>;

/** Summarizes a traceroute monitor's result for people. */
export function summaryOf(detail: TracerouteDetail): DetailSummary {
  const { request, response } = detail;
  const { url, protocol, port, probesPerHop } = request;
  const probes = `${protocol}${port === null ? '' : `, port ${port}`}, ${probesPerHop} for each hop`;
  const facts = [fact('Target', code(url)), fact('Probes', probes)];
  const section = { title: 'Path to the target', id: 'path', facts };
  if (!response) return { ...probeParts(detail), sections: [section] };
  const { destinationReached: isReached, packetLoss, finalHopLatency: latency } = response;
  return {
    ...probeParts(detail),
    sections: [
      {
        ...section,
        facts: [
          ...facts,
          fact('Address', response.resolvedIp),
          fact('Reached', isReached ? targetWords(response) : 'no', isReached ? null : reasonWords(response)),
          fact('Port', response.destinationPort),
          fact('Loss at the target', packetLoss === null ? null : percentText(shareOfPercent(packetLoss))),
          fact('Round trip', took(latency?.avg)),
        ],
        path: hopsOf(response),
      },
    ],
  };
}

function hopsOf({ hops, destinationReached: isReached, totalHops }: Response): SummaryHop[] {
  return hops.map(({ hopNumber, mainIp, mainHost, ips, sent, received, rtt, error }) => ({
    ...{ number: hopNumber, host: mainHost, sent, received, latency: rtt, error },
    addresses: mainIp === null ? ips : [mainIp, ...ips.filter((ip) => ip !== mainIp)],
    mark:
      !isReached || hopNumber < totalHops ? null : hopNumber === totalHops ? 'target' : 'behind the target',
  }));
}

/** Explains why and where the path ends before the target. */
function reasonWords({ truncationReason, lastHop }: Response): string {
  const last = lastHop
    ? `last response from hop ${lastHop.hopNumber} (${lastHop.ip ?? 'unknown'})`
    : 'no hop responded';
  return truncationReason === null ? last : `${reasons[truncationReason]}; ${last}`;
}

const reasons = {
  UNREACHABLE: 'a router has no route to it',
  MAX_UNKNOWN_HOPS: 'no hop behind the last one responds',
  MAX_HOPS: 'the limit of hops was reached',
  TIMEOUT: 'the time limit was reached',
  NOT_SENT: 'this location could not send',
} as const;
