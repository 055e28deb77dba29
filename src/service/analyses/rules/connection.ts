import type { DiagnosedRoute } from '@picket/checks/contract/facts.ts';
import { type Conclusion, shown } from '../conclusion.ts';
import { type AnalysisInput, impactOf } from '../run-view/case.ts';
import { peerText } from '../run-view/peer.ts';
import { companyItems, companyOf, sentence } from './location.ts';

const unreachableImpact = 'Users cannot reach the target.';

/** A host refused, reset or did not respond to a connection. */
export function failedConnection(given: AnalysisInput): Conclusion | undefined {
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

function refused(given: AnalysisInput): Conclusion {
  const { run, before } = given;
  const host = companyOf(given, 'host') ?? companyOf(given, 'address');
  const others =
    host && host.checks > 0 && host.failing === 0
      ? ` ${host.checks} other checks of ${host.value} pass, so the host itself is up.`
      : '';
  return {
    certainty: 'CERTAIN',
    owner: 'target',
    classification: 'INFRASTRUCTURE_ERROR',
    cause: `${given.target} refuses connections: the host is up, but no program listens on that port${before ? ` (one did at ${before.result.startedAt})` : ''}, or a firewall rejects the connection.${others}`,
    impact: impactOf(given, unreachableImpact),
    next: before
      ? 'Restart the service, and look in its log for the reason why it stopped; check whether it listens on another port or address.'
      : 'Check that the port in the check is right, and that the service listens on this address.',
    evidence: [shown(run.message, 'error', ...run.files), ...companyItems(given)],
  };
}

function reset(given: AnalysisInput): Conclusion {
  const { run, before } = given;
  return {
    certainty: 'LIKELY',
    owner: 'target',
    classification: 'INFRASTRUCTURE_ERROR',
    cause: `${given.target} accepted the connection and reset it before it responded: the program crashed or was stopped, or a load balancer or firewall in front of it closed the connection.${before ? '' : ' The check has not passed before.'}`,
    impact: impactOf(given, 'Some or all requests get no response.'),
    next: 'Look at the logs of the service, and of load balancers and firewalls in front of it, at the time of the run.',
    evidence: [shown(run.message, 'error', ...run.files), ...companyItems(given)],
  };
}

function silent(given: AnalysisInput): Conclusion {
  const { run, before } = given;
  const { route } = run;
  const told = {
    owner: 'path' as const,
    classification: 'INFRASTRUCTURE_ERROR' as const,
    impact: impactOf(given, unreachableImpact),
    evidence: [shown(run.message, 'error', ...run.files), ...routeItems(given), ...companyItems(given)],
  };
  if (run.details.timedOutIn === 'tls') {
    return {
      ...told,
      certainty: 'LIKELY',
      cause: `${given.target} accepts connections, but does not respond in the TLS handshake: the program hangs or is overloaded.`,
      next: 'Look at the load of the service, and restart it if it hangs.',
    };
  }
  if (route?.end === 'reached') {
    return {
      ...told,
      certainty: 'LIKELY',
      cause: `The host of ${given.target} responds to ICMP, but not on that port: a firewall drops the connections, or the program no longer accepts them.`,
      next: 'Look at the firewalls on the path and on the host, then at the program.',
    };
  }
  if (route?.end === 'unreachable') {
    return {
      ...told,
      certainty: 'LIKELY',
      cause: `There is no route to ${given.target}: ${route.router === null ? 'a router on the path' : `the router ${route.router}`} reports it as unreachable. The host or its network is down.`,
      next: 'Look at the host and its link, then at the routing table of that router.',
    };
  }
  return {
    ...told,
    certainty: 'LIKELY',
    cause: `${given.target} does not respond at all${route?.router ? `, and no hop after ${route.router} does` : ''}: the host is down, or a firewall drops the packets.${before ? ` It responded at ${before.result.startedAt}.` : ''} A timeout does not show which.`,
    next: before
      ? 'Check whether the host is up; then look for changes to firewalls and routes.'
      : 'Check that the address and the port in the check are right, and that firewalls allow traffic from the location.',
  };
}

function unreachable(given: AnalysisInput): Conclusion {
  const { run } = given;
  const { proxy, proxyStatus, proxyStatusText = '', host = '', port = 0, router } = run.details;
  if (proxy !== undefined && proxyStatus !== undefined) {
    const said = `${proxyStatus} ${proxyStatusText}`.trim();
    return {
      certainty: 'LIKELY',
      owner: 'path',
      classification: 'INFRASTRUCTURE_ERROR',
      cause: `The proxy ${proxy} cannot connect to ${peerText({ name: host, port })}: it responded with ${said}. The target does not respond to the proxy, or the proxy does not allow the connection.`,
      impact: impactOf(given, 'Users of the same proxy cannot reach the target.'),
      next: 'Look at the log of the proxy: it shows whether a rule denied the connection or the connection failed.',
      evidence: [shown(run.message, 'error'), ...companyItems(given)],
    };
  }
  const hop = run.route?.router ?? router ?? run.router;
  return {
    certainty: 'CERTAIN',
    owner: 'path',
    classification: 'INFRASTRUCTURE_ERROR',
    cause: `${given.target} cannot be reached, reports ${hop === null ? 'the network' : `the router ${hop}`}. ${sentence(run.message)} The host is down or disconnected, or a router or firewall on the path rejects the traffic.`,
    impact: impactOf(given, unreachableImpact),
    next: 'Look at the host and its link, then at the routes and rules of the router that responded.',
    evidence: [shown(run.message, 'error', ...run.files), ...routeItems(given), ...companyItems(given)],
  };
}

/** The check expects a closed port. */
function open(given: AnalysisInput): Conclusion {
  const { run, before } = given;
  return {
    certainty: 'CERTAIN',
    owner: 'target-or-check',
    classification: 'CONFIGURATION_ERROR',
    cause: `${given.target} accepts connections, but the check expects a closed port.${before ? ` The port was closed at ${before.result.startedAt}: a program was started since, or a firewall was opened.` : ''}`,
    impact: impactOf(given, 'A port that should be closed is reachable.'),
    next: 'Close the port, or change the expectation of the check.',
    evidence: [shown(run.message, 'error')],
  };
}

/** The response is truncated or invalid. */
export function brokenAnswer(given: AnalysisInput): Conclusion | undefined {
  const { run } = given;
  if (run.code !== 'RESPONSE_MALFORMED' && run.code !== 'RESPONSE_UNDECODABLE') return undefined;
  const isEncoding = run.code === 'RESPONSE_UNDECODABLE';
  return {
    certainty: 'CERTAIN',
    owner: 'target',
    classification: 'APPLICATION_ERROR',
    cause: `${given.target} responds with ${isEncoding ? 'a body whose encoding does not match its headers' : 'an invalid response'}. ${sentence(run.message)}`,
    impact: impactOf(given, 'Clients cannot read the response.'),
    next: isEncoding
      ? 'Look for a response that is compressed twice, by the service and by a proxy in front of it.'
      : 'Check whether another service listens on this port, or a proxy in front of it corrupts the responses.',
    evidence: [shown(run.message, 'error', 'response', ...run.files)],
  };
}

export function failedProxy(given: AnalysisInput): Conclusion | undefined {
  const { run } = given;
  if (run.code !== 'PROXY_FAILED') return undefined;
  const isRefused = run.details.proxyStatus === 407;
  return {
    certainty: 'CERTAIN',
    owner: 'location',
    classification: isRefused ? 'CONFIGURATION_ERROR' : 'INFRASTRUCTURE_ERROR',
    cause: isRefused
      ? `The proxy of the location ${run.result.location} does not accept the configured user name and password. ${sentence(run.message)}`
      : `The proxy of the location ${run.result.location} fails, not the target. ${sentence(run.message)}`,
    impact: impactOf(given, 'Unknown: the location could not contact the target.'),
    next: isRefused
      ? 'Correct the user name and password in the proxy URL of the location.'
      : 'Check that the proxy is up and that the agents can reach it.',
    evidence: [shown(run.message, 'error')],
  };
}

const routeEnds: Readonly<Record<DiagnosedRoute['end'], string>> = {
  reached: 'the target responded',
  unreachable: 'a router reports that there is no route',
  silent: 'no response from beyond the last hop',
  'hop-limit': 'the hop limit was reached before the target',
  'time-limit': 'the time limit was reached',
  unsent: 'the agent could not send further probes',
};

function routeWords({ end, router, hops }: DiagnosedRoute): string {
  const length = hops.length === 0 ? '' : ` after ${hops.length} ${hops.length === 1 ? 'hop' : 'hops'}`;
  return `Traceroute to the target: ${routeEnds[end]}${length}${router === null ? '' : ` (${router})`}.`;
}

function routeItems({ run }: AnalysisInput) {
  const file = run.files.find(({ type }) => type === 'TRACE_ROUTE');
  return run.route && file ? [shown(routeWords(run.route), file)] : [];
}
