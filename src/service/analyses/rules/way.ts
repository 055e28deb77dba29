import { type Conclusion, shown } from '../conclusion.ts';
import { type Case, impactOf } from '../seen/case.ts';
import { companyItems, sentence } from './location.ts';

/** A way that a traceroute monitor followed, and that does not end at the target. */
export function endedWay(given: Case): Conclusion | undefined {
  const { run, before } = given;
  if (!run.path || run.path.isComplete || (run.code !== 'NO_REPLY' && run.code !== 'HOST_UNREACHABLE')) {
    return undefined;
  }
  const common = {
    owner: 'path' as const,
    classification: 'INFRASTRUCTURE_ERROR' as const,
    impact: impactOf(given, 'Nobody who takes that way reaches the target.'),
    evidence: [shown(run.message, 'error', ...run.files), ...companyItems(given)],
  };
  const turn = before?.path ? firstDifference(before.path.hops, run.path.hops) : undefined;
  const changed = turn
    ? ` Until ${before?.result.startedAt} the way went over ${turn.before} in hop ${turn.hopNumber}, and now over ${turn.now}.`
    : '';
  if (run.details.loop !== undefined) {
    return {
      ...common,
      certainty: 'CERTAIN',
      cause: `Routers on the way to ${given.target} hand its packets to each other in circles. ${sentence(run.message)}${changed}`,
      next: 'Compare the routes of these routers for the target: one of them has to send it elsewhere.',
    };
  }
  if (run.code === 'HOST_UNREACHABLE') {
    return {
      ...common,
      certainty: 'CERTAIN',
      cause: `There is no way to ${given.target}, and somebody on the way says so. ${sentence(run.message)}${changed}`,
      next: 'Look at the routes and the firewall of who says it, then at the host and its link.',
    };
  }
  if (run.path.forwardingHop !== null) {
    return {
      ...common,
      certainty: 'LIKELY',
      cause: `The address of ${given.target} is reached, and the host to which it forwards the probes is not: that host is down, or a firewall drops them. ${sentence(run.message)}${changed}`,
      next: 'Look at the rule that forwards them (port forwarding, load balancer), and whether the host that it names runs.',
    };
  }
  return {
    ...common,
    certainty: 'LIKELY',
    cause: `${given.target} does not answer, and nobody on the way says why: the host is down, or a firewall drops the probes. ${sentence(run.message)}${changed}`,
    next: before
      ? 'See whether the host runs; then look at what is behind the last hop that answered.'
      : 'See whether the host answers to this kind of probe at all: TCP to an open port is answered most often.',
  };
}

interface Turn {
  readonly hopNumber: number;
  readonly before: string;
  readonly now: string;
}

/** The first hop that is another router than before; silent ones say nothing. */
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
