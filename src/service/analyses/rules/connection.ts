import type { DiagnosedRoute } from '@picket/checks/contract/facts.ts';
import { type Conclusion, shown } from '../conclusion.ts';
import { type Case, impactOf } from '../seen/case.ts';
import { peerText } from '../seen/peer.ts';
import { companyItems, companyOf, sentence } from './location.ts';

const nobody = 'Nobody reaches the target.';

/** What a host said, or did not say, to a connection. */
export function failedConnection(given: Case): Conclusion | undefined {
  switch (given.run.code) {
    case 'CONNECTION_REFUSED':
      return refused(given);
    case 'CONNECTION_RESET':
      return reset(given);
    case 'CONNECTION_TIMEOUT':
      return silent(given);
    case 'HOST_UNREACHABLE':
      return unreachable(given);
    case 'CONNECTION_UNEXPECTED':
      return open(given);
    default:
      return undefined;
  }
}

function refused(given: Case): Conclusion {
  const { run, before } = given;
  const host = companyOf(given, 'host') ?? companyOf(given, 'address');
  const others =
    host && host.checks > 0 && host.failing === 0
      ? ` ${host.checks} other checks of ${host.value} pass, so the host itself runs.`
      : '';
  return {
    certainty: 'CERTAIN',
    owner: 'target',
    classification: 'INFRASTRUCTURE_ERROR',
    cause: `${given.target} refuses connections: the host answers, and no program listens at that port${before ? ` any more (one did at ${before.result.startedAt})` : ''}, unless a firewall answers in its place.${others}`,
    impact: impactOf(given, nobody),
    next: before
      ? 'Start the service again, and look at its log for why it ended; see whether it listens at another port or address.'
      : 'See whether the port in the check is right, and whether the service listens at this address.',
    evidence: [shown(run.message, 'error', ...run.files), ...companyItems(given)],
  };
}

function reset(given: Case): Conclusion {
  const { run, before } = given;
  return {
    certainty: 'LIKELY',
    owner: 'target',
    classification: 'INFRASTRUCTURE_ERROR',
    cause: `${given.target} accepted the connection and broke it off before it had answered: its program crashed or was stopped in the middle, or something before it (load balancer, firewall) cut the connection.${before ? '' : ' The check has not passed before.'}`,
    impact: impactOf(given, 'Requests get no answer, all of them or some.'),
    next: 'Look at the log of the service and of what stands before it, at the time of the run.',
    evidence: [shown(run.message, 'error', ...run.files), ...companyItems(given)],
  };
}

function silent(given: Case): Conclusion {
  const { run, before } = given;
  const { route } = run;
  const told = {
    owner: 'path' as const,
    classification: 'INFRASTRUCTURE_ERROR' as const,
    impact: impactOf(given, nobody),
    evidence: [shown(run.message, 'error', ...run.files), ...routeItems(given), ...companyItems(given)],
  };
  if (run.details.timedOutIn === 'tls') {
    return {
      ...told,
      certainty: 'LIKELY',
      cause: `${given.target} accepts connections and says nothing in the TLS handshake: its program hangs or is overloaded.`,
      next: 'Look at the load of the service, and restart it if it hangs.',
    };
  }
  if (route?.end === 'reached') {
    return {
      ...told,
      certainty: 'LIKELY',
      cause: `The host of ${given.target} answers to ICMP and not at that port: a firewall drops the connections, or the program does not accept them any more.`,
      next: 'Look at the firewalls on the way and on the host, then at the program.',
    };
  }
  if (route?.end === 'unreachable') {
    return {
      ...told,
      certainty: 'LIKELY',
      cause: `There is no way to ${given.target}: ${route.router === null ? 'a router on the way' : `the router ${route.router}`} says so. The host is off, or its network is.`,
      next: 'Look at the host and its link, then at the routes of that router.',
    };
  }
  return {
    ...told,
    certainty: 'LIKELY',
    cause: `${given.target} does not answer at all${route?.router ? `; behind ${route.router} nobody does` : ''}: the host is down, or a firewall drops the packets.${before ? ` It answered at ${before.result.startedAt}.` : ''} Silence does not tell which.`,
    next: before
      ? 'See whether the host runs; then look for a change of a firewall or a route.'
      : 'See whether the address and the port in the check are right, and whether a firewall lets the location through.',
  };
}

function unreachable(given: Case): Conclusion {
  const { run } = given;
  const { proxy, proxyStatus, proxyStatusText = '', host = '', port = 0, router } = run.details;
  if (proxy !== undefined && proxyStatus !== undefined) {
    const said = `${proxyStatus} ${proxyStatusText}`.trim();
    return {
      certainty: 'LIKELY',
      owner: 'path',
      classification: 'INFRASTRUCTURE_ERROR',
      cause: `The proxy ${proxy} does not get to ${peerText({ name: host, port })}: it answered ${said}. The target does not answer the proxy, or the proxy does not allow it.`,
      impact: impactOf(given, 'Who uses the same proxy does not reach the target.'),
      next: 'Look at the log of the proxy: it says whether it refused by a rule or got no connection.',
      evidence: [shown(run.message, 'error'), ...companyItems(given)],
    };
  }
  const hop = run.route?.router ?? router ?? run.router;
  return {
    certainty: 'CERTAIN',
    owner: 'path',
    classification: 'INFRASTRUCTURE_ERROR',
    cause: `The network says that ${given.target} cannot be reached${hop === null ? '' : ` (${hop} said so)`}. ${sentence(run.message)} The host is off or has left its network, or a router or firewall on the way does not let it through.`,
    impact: impactOf(given, nobody),
    next: 'Look at the host and its link, then at the routes and firewalls of the router that answered.',
    evidence: [shown(run.message, 'error', ...run.files), ...routeItems(given), ...companyItems(given)],
  };
}

/** A check that expects a closed port. */
function open(given: Case): Conclusion {
  const { run, before } = given;
  return {
    certainty: 'CERTAIN',
    owner: 'target-or-check',
    classification: 'CONFIGURATION_ERROR',
    cause: `${given.target} accepts connections, and the check expects a closed port.${before ? ` It was closed at ${before.result.startedAt}: a program was started, or a firewall opened.` : ''}`,
    impact: impactOf(given, 'A port that should be closed can be reached.'),
    next: 'Close the port again, or change what the check expects.',
    evidence: [shown(run.message, 'error')],
  };
}

/** An answer that breaks off or is none. */
export function brokenAnswer(given: Case): Conclusion | undefined {
  const { run } = given;
  if (run.code !== 'RESPONSE_MALFORMED' && run.code !== 'RESPONSE_UNDECODABLE') return undefined;
  const isEncoding = run.code === 'RESPONSE_UNDECODABLE';
  return {
    certainty: 'CERTAIN',
    owner: 'target',
    classification: 'APPLICATION_ERROR',
    cause: `${given.target} answers with ${isEncoding ? 'a body that is not encoded as its headers say' : 'something that is no valid answer'}. ${sentence(run.message)}`,
    impact: impactOf(given, 'Programs cannot read the answer.'),
    next: isEncoding
      ? 'Look at what compresses the answers: the service, or a proxy before it that does it once more.'
      : 'See whether another service listens at this port, or a proxy before it breaks its answers.',
    evidence: [shown(run.message, 'error', 'response', ...run.files)],
  };
}

export function failedProxy(given: Case): Conclusion | undefined {
  const { run } = given;
  if (run.code !== 'PROXY_FAILED') return undefined;
  const isRefused = run.details.proxyStatus === 407;
  return {
    certainty: 'CERTAIN',
    owner: 'location',
    classification: isRefused ? 'CONFIGURATION_ERROR' : 'INFRASTRUCTURE_ERROR',
    cause: isRefused
      ? `The proxy of the location ${run.result.location} does not accept the user name and password it gets. ${sentence(run.message)}`
      : `The proxy of the location ${run.result.location} fails, not the target. ${sentence(run.message)}`,
    impact: impactOf(given, 'Nothing is known of the target: the location could not ask it.'),
    next: isRefused
      ? 'Correct the user name and the password in the proxy URL of the location.'
      : 'See whether the proxy runs and can be reached from the agents.',
    evidence: [shown(run.message, 'error')],
  };
}

const routeEnds: Readonly<Record<DiagnosedRoute['end'], string>> = {
  reached: 'the target answered',
  unreachable: 'a router says that there is no path',
  silent: 'no answer came from behind the last hop',
  'hop-limit': 'the target is not among the hops that were tried',
  'time-limit': 'the time for it was over',
  unsent: 'the agent could not send any further request',
};

function routeWords({ end, router, hops }: DiagnosedRoute): string {
  const length = hops.length === 0 ? '' : ` after ${hops.length} ${hops.length === 1 ? 'hop' : 'hops'}`;
  return `The path to the target, traced: ${routeEnds[end]}${length}${router === null ? '' : ` (${router})`}.`;
}

function routeItems({ run }: Case) {
  const file = run.files.find(({ type }) => type === 'TRACE_ROUTE');
  return run.route && file ? [shown(routeWords(run.route), file)] : [];
}
