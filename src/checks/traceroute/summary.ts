import { durationText } from '../../lib/figures/duration.ts';
import { percentText, shareOfPercent } from '../../lib/figures/share.ts';
import type { DetailSummary, SummaryFact } from '../summary/detail-summary.ts';
import type { HopLatency, TracerouteDetail, TracerouteHop } from './detail.ts';
import { targetWords } from './forwarding.ts';

/** What people read of a traceroute monitor's result: the way hop by hop, so that runs are compared by it. */
export function summaryOf({ request, response }: TracerouteDetail): DetailSummary {
  const { url, protocol, port } = request;
  const probes = port === null ? protocol : `${protocol}, port ${port}`;
  if (!response) {
    return { phases: [], sections: [{ title: 'Way', facts: [fact('Target', url), fact('Probes', probes)] }] };
  }
  const { destinationReached, lastHop, packetLoss, finalHopLatency: latency } = response;
  const last = lastHop && `hop ${lastHop.hopNumber}, ${lastHop.ip ?? 'unknown'}`;
  return {
    phases: [],
    sections: [
      {
        title: 'Way',
        facts: [
          fact('Target', url),
          fact('Address', response.resolvedIp),
          fact('Probes', probes),
          fact(
            'Target answers',
            destinationReached ? targetWords(response) : 'no',
            destinationReached ? null : reasonWords(response.truncationReason),
          ),
          fact('Port', response.destinationPort),
          fact('Last that answered', destinationReached ? null : (last ?? 'nobody')),
          fact('Loss at the target', packetLoss === null ? null : percentText(shareOfPercent(packetLoss))),
          fact('Round trip', latency && latencyWords(latency)),
        ],
      },
      {
        title: 'Hops',
        facts: response.hops.map((hop) => fact(`Hop ${hop.hopNumber}`, hopWords(hop), hop.error)),
      },
    ],
  };
}

/** Who is at a distance. Times differ from run to run, and are not part of it. */
function hopWords({ ips, mainHost }: TracerouteHop): string {
  if (ips.length === 0) return 'no reply';
  const addresses = ips.toSorted().join(', ');
  return mainHost === null ? addresses : `${addresses} (${mainHost})`;
}

function latencyWords({ avg, best, worst }: HopLatency): string {
  return `${durationText(avg)} (${durationText(best)} to ${durationText(worst)})`;
}

/** Why a way was not followed to its end. */
export function reasonWords(reason: NonNullable<TracerouteDetail['response']>['truncationReason']): string {
  switch (reason) {
    case 'UNREACHABLE':
      return 'a router says that there is no way on';
    case 'MAX_UNKNOWN_HOPS':
      return 'nobody behind the last hop answers';
    case 'MAX_HOPS':
      return 'the limit of hops was reached';
    case 'TIMEOUT':
      return 'the time for it was over';
    case 'NOT_SENT':
      return 'this location could not send';
    case null:
      return '';
  }
}

function fact(name: string, value: string | number | null, problem: string | null = null): SummaryFact {
  return { name, value, problem };
}
