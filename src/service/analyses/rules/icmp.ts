import { type Conclusion, shown } from '../conclusion.ts';
import { type Case, impactOf } from '../seen/case.ts';
import { companyItems, sentence } from './location.ts';

/** Echo requests without replies, or with fewer than there should be. */
export function lostPings(given: Case): Conclusion | undefined {
  const { run, before } = given;
  if (run.code === 'REPLY_UNEXPECTED') {
    return {
      certainty: 'CERTAIN',
      owner: 'target-or-check',
      classification: 'CONFIGURATION_ERROR',
      cause: `${given.target} answers, and the check expects that it does not.`,
      impact: impactOf(given, 'A host that should be silent can be reached.'),
      next: 'Close the way to the host again, or change what the check expects.',
      evidence: [shown(run.message, 'pings')],
    };
  }
  if (run.code === 'NO_REPLY') {
    const { route } = run;
    const behind = route?.router ? ` Behind ${route.router} nobody answers.` : '';
    return {
      certainty: 'LIKELY',
      owner: 'path',
      classification: 'INFRASTRUCTURE_ERROR',
      cause: `${given.target} answers no echo request, and nobody on the way says why: the host is down, or a firewall drops ICMP.${behind}${before ? ` It answered at ${before.result.startedAt}.` : ' It has not answered this check before: it may never answer to ICMP.'}`,
      impact: impactOf(given, 'If the host is down, nothing on it can be reached.'),
      next: before
        ? 'See whether the host runs, then whether a firewall was changed.'
        : 'See whether the host answers to ICMP at all; else check a port of it.',
      evidence: [shown(run.message, 'pings', ...run.files), ...companyItems(given)],
    };
  }
  if (run.code !== 'PACKET_LOSS_EXCEEDED') return undefined;
  const earlier = before?.packetLoss;
  return {
    certainty: 'LIKELY',
    owner: 'path',
    classification: 'INFRASTRUCTURE_ERROR',
    cause: `The way to ${given.target} loses packets${run.packetLoss === null ? '' : `: ${run.packetLoss} percent`}${earlier === null || earlier === undefined ? '' : `, and ${earlier} percent at the last pass`}. The host answers the rest, so it runs; a link on the way is overloaded or faulty, or something limits ICMP. ${sentence(run.message)}`,
    impact: impactOf(given, 'Connections to the host are slow and break off now and then.'),
    next: 'Look at the links and queues on the way; the traceroute of a failed run shows from where on packets are lost.',
    evidence: [shown(run.message, 'pings', ...run.files), ...companyItems(given)],
  };
}
