import type { IpFamily } from '@picket/probes/address.ts';
import { describeIcmpError } from '@picket/probes/icmp/errors.ts';
import type { HopAnswer } from '@picket/probes/traceroute/hop-prober.ts';
import type { RouteProbeResult } from '@picket/probes/traceroute/probe.ts';
import {
  type Hop,
  isTimeExceeded,
  type Route,
  type TracerouteEnd,
} from '@picket/probes/traceroute/traceroute.ts';
import { familyName } from '../contract/ip-family.ts';
import { timesToMicroseconds, toMicroseconds } from '../contract/outcome.ts';
import type { Sources } from '../judging/evaluate.ts';
import type { HopLatency, TracerouteDetail, TracerouteHop, truncationReasons } from './detail.ts';
import type { ProbeProtocol } from './spec.ts';

export type Response = NonNullable<TracerouteDetail['response']>;
type ReceivedAnswer = Extract<HopAnswer, { kind: 'answer' }>;

const reasons: Readonly<Record<TracerouteEnd, (typeof truncationReasons)[number] | null>> = {
  reached: null,
  unreachable: 'UNREACHABLE',
  silent: 'MAX_UNKNOWN_HOPS',
  'hop-limit': 'MAX_HOPS',
  'time-limit': 'TIMEOUT',
  unsent: 'NOT_SENT',
};

/** A path as a result shows it. */
export function responseOf(
  hostname: string,
  protocol: ProbeProtocol,
  { address, family, lookupMs }: Pick<RouteProbeResult, 'address' | 'family' | 'lookupMs'>,
  { hops, end, distance }: Route,
  names: ReadonlyMap<string, string>,
): Response {
  const isReached = end === 'reached';
  const final = isReached ? hops.at(-1) : undefined;
  const ofTarget = final ? answersAt(final).filter(({ error }) => error === null) : [];
  const sentToTarget = final?.answers.filter((answer) => hasComeFurther(answer, family)).length ?? 0;
  const isSent = end !== 'unsent' && !(end === 'time-limit' && hops.length === 0);
  const last = hops.findLast((hop) => answersAt(hop).length > 0);
  const totalHops = isReached ? (distance ?? hops.length) : hops.length;
  return {
    hostname,
    resolvedIp: address,
    ipFamily: familyName(address),
    protocol,
    destinationReached: isReached,
    destinationPort: ofTarget.find(({ port }) => port)?.port ?? null,
    totalHops,
    lastHop: final
      ? { hopNumber: totalHops, ip: ofTarget[0]?.address ?? null }
      : last
        ? { hopNumber: last.ttl, ip: mainAddress(last) }
        : null,
    truncationReason: reasons[end],
    finalHopLatency: latencyOf(ofTarget),
    packetLoss: isReached ? percentOf(sentToTarget - ofTarget.length, sentToTarget) : isSent ? 100 : null,
    timingPhases: { dns: toMicroseconds(lookupMs) },
    hops: hops.map((hop) => hopOf(hop, family, names)),
  };
}

/** Whether a probe did not expire at this distance: paths to one host can have different lengths. */
function hasComeFurther(answer: HopAnswer, family: IpFamily): boolean {
  if (answer.kind === 'unsent') return false;
  return answer.kind === 'silence' || answer.error === null || !isTimeExceeded(family, answer.error.type);
}

function hopOf(hop: Hop, family: IpFamily, names: ReadonlyMap<string, string>): TracerouteHop {
  const heard = answersAt(hop);
  const sent = hop.answers.filter(({ kind }) => kind !== 'unsent').length;
  const mainIp = mainAddress(hop);
  return {
    hopNumber: hop.ttl,
    mainIp,
    mainHost: (mainIp === null ? undefined : names.get(mainIp)) ?? null,
    ips: addressesOf(hop),
    sent,
    received: heard.length,
    lossPercentage: percentOf(sent - heard.length, sent),
    rtt: latencyOf(heard),
    error: errorOf(hop, family),
  };
}

export function answersAt({ answers }: Hop): ReceivedAnswer[] {
  return answers.filter((answer) => answer.kind === 'answer');
}

/** Returns all addresses that replied from this distance, without duplicates. */
export function addressesOf(hop: Hop): string[] {
  return [...new Set(answersAt(hop).flatMap(({ address }) => address ?? []))];
}

/** Returns the address that replied most often; of several the first. */
function mainAddress(hop: Hop): string | null {
  const counts = new Map<string, number>();
  for (const { address } of answersAt(hop)) {
    if (address !== null) counts.set(address, (counts.get(address) ?? 0) + 1);
  }
  const [main] = [...counts].sort(([, left], [, right]) => right - left);
  return main?.[0] ?? null;
}

/** Returns the ICMP errors from this distance, or why no probe was sent. */
function errorOf(hop: Hop, family: IpFamily): string | null {
  const texts = hop.answers.flatMap((answer) => {
    if (answer.kind === 'unsent') return [`not sent: ${answer.errno}`];
    if (answer.kind !== 'answer' || answer.error === null) return [];
    const { type, code } = answer.error;
    return isTimeExceeded(family, type) ? [] : [describeIcmpError(family, type, code)];
  });
  return texts.length === 0 ? null : [...new Set(texts)].join(', ');
}

function latencyOf(heard: readonly ReceivedAnswer[]): HopLatency | null {
  const timesMs = heard.flatMap(({ rttMs }) => rttMs ?? []);
  if (timesMs.length === 0) return null;
  const avg = timesMs.reduce((sum, time) => sum + time, 0) / timesMs.length;
  const variance = timesMs.reduce((sum, time) => sum + (time - avg) ** 2, 0) / timesMs.length;
  return timesToMicroseconds({
    avg,
    best: Math.min(...timesMs),
    worst: Math.max(...timesMs),
    stdDev: Math.sqrt(variance),
  });
}

function percentOf(part: number, whole: number): number | null {
  return whole === 0 ? null : Math.round((100_000 * part) / whole) / 1000;
}

/** Sources of the assertions of a traceroute monitor. */
export function sourcesOf(response: Response): Sources {
  const { finalHopLatency: latency, totalHops, packetLoss, hops } = response;
  return {
    RESPONSE_TIME: () =>
      latency
        ? {
            kind: 'fields',
            fields: { avg: latency.avg, min: latency.best, max: latency.worst, stdDev: latency.stdDev },
          }
        : { kind: 'unavailable', reason: 'there is no response time: the target did not respond' },
    HOP_COUNT: () => ({ kind: 'value', value: totalHops }),
    PACKET_LOSS: () => ({ kind: 'value', value: packetLoss }),
    PATH: () => ({ kind: 'value', value: hops.flatMap(({ ips }) => ips) }),
    JSON_RESPONSE: () => ({ kind: 'json', document: response }),
  };
}
