import { type Conclusion, shown } from '../conclusion.ts';
import type { Company } from '../evidence.ts';
import { type AnalysisInput, impactOf } from '../run-view/case.ts';

/** This many failing hosts, and this share of all checks there, implicate the location. */
const minHosts = 3;
const minShare = 0.6;

/** The agents of the location report it as unhealthy. */
export function unhealthyLocation(given: AnalysisInput): Conclusion | undefined {
  const { run, evidence, fromLocation } = given;
  const [event] = evidence.locationEvents;
  const isSick = run.code === 'LOCATION_SICK';
  if (!isSick && (!event || fromLocation === null)) return undefined;
  const { location } = run.result;
  const said = event ? `; it began at ${event.startedAt} (${event.kind}: ${event.evidence})` : '';
  return {
    certainty: isSick ? 'CERTAIN' : 'LIKELY',
    owner: 'location',
    classification: 'INFRASTRUCTURE_ERROR',
    cause: `The location ${location} is unhealthy, not the target. Its own agents report this${said}.`,
    impact: impactOf(given, 'Unknown: the target was not tested; users elsewhere may not be affected.'),
    next: `Look at the network and the resolver of ${location}; the page of the location shows the evidence.`,
    evidence: [
      ...(event
        ? [
            shown(
              `An agent reported ${event.kind} from ${event.startedAt}: ${event.evidence}`,
              'locationEvent',
            ),
          ]
        : []),
      shown(run.message, 'error'),
    ],
  };
}

/** The location lacks a required capability. */
export function incapableLocation(given: AnalysisInput): Conclusion | undefined {
  const { run, before } = given;
  const { location } = run.result;
  const base = {
    certainty: 'CERTAIN' as const,
    impact: 'Unknown: the location could not contact the target.',
    evidence: [shown(run.message, 'error', ...run.files)],
  };
  if (run.code === 'NETWORK_UNAVAILABLE') {
    return {
      ...base,
      owner: 'location',
      classification: 'INFRASTRUCTURE_ERROR',
      cause: `The location ${location} has no network route to ${given.target}.`,
      next: `Check the routes, interfaces and firewall of the host of the agent at ${location}${before ? '' : ', and whether it has the address family that the check requires'}.`,
    };
  }
  if (run.code === 'ICMP_UNAVAILABLE') {
    return {
      ...base,
      owner: 'location',
      classification: 'CONFIGURATION_ERROR',
      cause: `The location ${location} does not allow its agent to send ICMP.`,
      next: 'Allow it: with the sysctl net.ipv4.ping_group_range, or the capability CAP_NET_RAW. `picket doctor` tests it.',
    };
  }
  if (run.code === 'SECRET_UNAVAILABLE') {
    return {
      ...base,
      owner: 'location',
      classification: 'CONFIGURATION_ERROR',
      cause: `The location ${location} cannot read a secret that the check needs.`,
      next: `Run \`picket doctor\` at the agent of ${location}: it tries each secret and says what to do.`,
    };
  }
  if (run.code === 'TRACEROUTE_UNAVAILABLE') {
    return {
      ...base,
      owner: 'location',
      classification: 'CONFIGURATION_ERROR',
      cause: `The location ${location} does not allow the probes of this traceroute.`,
      next: 'Allow them there, or choose another protocol in the check. `picket doctor` tests it.',
    };
  }
  if (run.code === 'RDAP_UNAVAILABLE') {
    return {
      ...base,
      owner: 'location',
      classification: 'INFRASTRUCTURE_ERROR',
      cause: `The location ${location} got no data about ${given.target} from the registry. ${sentence(run.message)}`,
      next: 'Wait if the registry limits requests, and let the check run once or twice a day. Otherwise check whether the location reaches that server, or set another rdapServer or rdapDirectory.',
    };
  }
  if (run.code === 'LOGIN_UNAVAILABLE') {
    return {
      ...base,
      owner: 'location',
      classification: 'CONFIGURATION_ERROR',
      cause: `The location ${location} cannot log in at ${given.target} by Kerberos. ${sentence(run.message)}`,
      next: 'Look at the KERBEROS settings of the agent there, at its keytab or ticket cache, and at the KDC. `picket doctor` tests them.',
    };
  }
  return undefined;
}

/** Most checks of the location fail at once, with unrelated targets. */
export function crowdedLocation(given: AnalysisInput): Conclusion | undefined {
  const { run, evidence, fromLocation } = given;
  const here = companyOf(given, 'location');
  if (fromLocation === null || !here) return undefined;
  if (here.failingHosts < minHosts || here.failing < here.checks * minShare) return undefined;
  return {
    certainty: 'LIKELY',
    owner: 'location',
    classification: 'INFRASTRUCTURE_ERROR',
    cause: `The location ${here.value} itself: ${here.failing} of its other ${here.checks} checks fail at the same time, with ${here.failingHosts} different hosts.`,
    impact: impactOf(given, 'Users elsewhere may not be affected; this location currently measures little.'),
    next: `Look at the network, the resolver and the proxy of ${here.value} before you look at any single target.`,
    evidence: [
      shown(`Failing as well: ${here.names.join(', ')}`, 'checks'),
      shown(run.message, 'error', ...run.files),
      ...elsewhereItem(evidence.elsewhere),
    ],
  };
}

/** The check fails here and passes elsewhere, with a failure that the location could cause. */
export function onlyHere(given: AnalysisInput): Conclusion | undefined {
  const { run, evidence, fromLocation, passesAt } = given;
  if (fromLocation === null || passesAt.length === 0) return undefined;
  if (evidence.elsewhere.some(({ passes }) => !passes)) return undefined;
  const { location } = run.result;
  const part =
    fromLocation === 'resolver' ? `the resolver of ${location}` : `the network path from ${location} to it`;
  return {
    certainty: 'LIKELY',
    owner: 'location',
    classification: 'INFRASTRUCTURE_ERROR',
    cause: `Not the target but ${part}: the check fails at ${location} and passes at ${passesAt.join(', ')}. ${sentence(run.message)}`,
    impact: impactOf(given, ''),
    next:
      fromLocation === 'resolver'
        ? `Query the resolver of ${location} for the name, and compare its answer with that of another resolver.`
        : `Look at the route and the firewalls between ${location} and the target, and whether the target refuses addresses of ${location}.`,
    evidence: [shown(run.message, 'error', ...run.files), ...elsewhereItem(evidence.elsewhere)],
  };
}

/** Other checks with the same host or address that fail with this one, as evidence. */
export function companyItems(given: AnalysisInput) {
  return (given.evidence.company ?? []).flatMap((one) =>
    one.kind === 'location' || one.failing === 0
      ? []
      : [
          shown(
            `${one.failing} of ${one.checks} other checks of the ${one.kind} ${one.value} fail as well: ${one.names.join(', ')}`,
            'checks',
          ),
        ],
  );
}

export function companyOf({ evidence }: AnalysisInput, kind: Company['kind']): Company | undefined {
  return evidence.company?.find((one) => one.kind === kind);
}

function elsewhereItem(elsewhere: AnalysisInput['evidence']['elsewhere']) {
  const said = elsewhere.map(({ location, passes }) => `${passes ? 'passes' : 'fails'} at ${location}`);
  return said.length === 0 ? [] : [shown(`The check ${said.join(', ')}`, 'locations')];
}

/** A message as a sentence. */
export function sentence(message: string): string {
  const [line = ''] = message.trim().split('\n');
  const cut = line.length > 300 ? `${line.slice(0, 300).toWellFormed()}…` : line;
  return /[.!?…]$/.test(cut) || cut === '' ? cut : `${cut}.`;
}
