import { type Conclusion, shown } from '../conclusion.ts';
import { type AnalysisInput, impactOf } from '../run-view/case.ts';
import { companyItems, sentence } from './location.ts';

/** Echo requests with no replies, or with too few. */
export function lostPings(given: AnalysisInput): Conclusion | undefined {
  const { run, before } = given;
  if (run.code === 'REPLY_UNEXPECTED') {
    return {
      certainty: 'CERTAIN',
      owner: 'target-or-check',
      classification: 'CONFIGURATION_ERROR',
      cause: `${given.target} responds, but the check expects that it does not.`,
      impact: impactOf(given, 'A host that should not respond is reachable.'),
      next: 'Block access to the host, or change the expectation of the check.',
      evidence: [shown(run.message, 'pings')],
    };
  }
  if (run.code === 'NO_REPLY') {
    const { route } = run;
    const behind = route?.router ? ` No hop after ${route.router} responds.` : '';
    return {
      certainty: 'LIKELY',
      owner: 'path',
      classification: 'INFRASTRUCTURE_ERROR',
      cause: `${given.target} responds to no echo request, and no router on the path reports a reason: the host is down, or a firewall drops ICMP.${behind}${before ? ` It responded at ${before.result.startedAt}.` : ' It has never responded to this check: it may not respond to ICMP at all.'}`,
      impact: impactOf(given, 'If the host is down, none of its services can be reached.'),
      next: before
        ? 'Check whether the host is up, then whether a firewall was changed.'
        : 'Check whether the host responds to ICMP at all; if not, monitor one of its ports.',
      evidence: [shown(run.message, 'pings', ...run.files), ...companyItems(given)],
    };
  }
  if (run.code !== 'PACKET_LOSS_EXCEEDED') return undefined;
  const earlier = before?.packetLoss;
  return {
    certainty: 'LIKELY',
    owner: 'path',
    classification: 'INFRASTRUCTURE_ERROR',
    cause: `The path to ${given.target} loses packets${run.packetLoss === null ? '' : `: ${run.packetLoss} percent`}${earlier === null || earlier === undefined ? '' : `, and ${earlier} percent at the last pass`}. The host responds to the rest, so it is up; a link on the path is overloaded or faulty, or a device limits ICMP. ${sentence(run.message)}`,
    impact: impactOf(given, 'Connections to the host are slow and sometimes drop.'),
    next: 'Look at the links and queues on the path; the traceroute of a failed run shows the hop where the loss begins.',
    evidence: [shown(run.message, 'pings', ...run.files), ...companyItems(given)],
  };
}
