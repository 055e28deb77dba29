import { type Conclusion, shown } from '../conclusion.ts';
import { type AnalysisInput, impactOf } from '../run-view/case.ts';
import { companyItems, sentence } from './location.ts';

/** The path that a traceroute monitor followed does not end at the target. */
export function endedRoute(given: AnalysisInput): Conclusion | undefined {
  const { run, before } = given;
  if (!run.path || run.path.isComplete || (run.code !== 'NO_REPLY' && run.code !== 'HOST_UNREACHABLE')) {
    return undefined;
  }
  const common = {
    owner: 'path' as const,
    classification: 'INFRASTRUCTURE_ERROR' as const,
    impact: impactOf(given, 'Users on this route cannot reach the target.'),
    evidence: [shown(run.message, 'error', ...run.files), ...companyItems(given)],
  };
  const turn = before?.path ? firstDifference(before.path.hops, run.path.hops) : undefined;
  const changed = turn
    ? ` At ${before?.result.startedAt}, hop ${turn.hopNumber} of the route was ${turn.before}; now it is ${turn.now}.`
    : '';
  if (run.details.loop !== undefined) {
    return {
      ...common,
      certainty: 'CERTAIN',
      cause: `There is a routing loop on the path to ${given.target}. ${sentence(run.message)}${changed}`,
      next: 'Compare the routing tables of these routers for the target, and correct the wrong one.',
    };
  }
  if (run.code === 'HOST_UNREACHABLE') {
    return {
      ...common,
      certainty: 'CERTAIN',
      cause: `There is no route to ${given.target}: a router or host on the path reports it as unreachable. ${sentence(run.message)}${changed}`,
      next: 'Look at the routes and the firewall of the reporting router, then at the host and its link.',
    };
  }
  if (run.path.forwardingHop !== null) {
    return {
      ...common,
      certainty: 'LIKELY',
      cause: `The address of ${given.target} responds, but the host to which it forwards the probes does not: that host is down, or a firewall drops them. ${sentence(run.message)}${changed}`,
      next: 'Look at the forwarding rule (port forwarding, load balancer), and check that its destination host is up.',
    };
  }
  return {
    ...common,
    certainty: 'LIKELY',
    cause: `${given.target} does not respond, and no router on the path reports a reason: the host is down, or a firewall drops the probes. ${sentence(run.message)}${changed}`,
    next: before
      ? 'Check whether the host is up; then look at the network after the last hop that responded.'
      : 'Check whether the host responds to this kind of probe at all: TCP to an open port works most often.',
  };
}

interface Turn {
  readonly hopNumber: number;
  readonly before: string;
  readonly now: string;
}

/** First hop with a different router than before; silent hops are ignored. */
function firstDifference(
  before: readonly (readonly string[])[],
  now: readonly (readonly string[])[],
): Turn | undefined {
  for (const [index, then] of before.entries()) {
    const here = now[index] ?? [];
    if (then.length === 0 || here.length === 0 || here.some((address) => then.includes(address))) continue;
    return { hopNumber: index + 1, before: then.join(', '), now: here.join(', ') };
  }
  return undefined;
}
