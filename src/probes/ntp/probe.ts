import { randomBytes } from 'node:crypto';
import type { ResolvedAddress, WantedFamily } from '../address.ts';
import { ProbeError } from '../connection/errors.ts';
import type { ProbeMeasurement } from '../kernel-thread/socket-watch.ts';
import type { Resolver } from '../resolver.ts';
import { probeUdp, type UdpProbeControls, type UdpProbeResult } from '../udp/probe.ts';
import { msBetweenStamps, type NtpAnswer, readAnswer, requestPacket, stampOf } from './packet.ts';
import type { WallClock } from './wall-clock.ts';

/** Server, attempts and timeouts. */
export interface NtpProbeRequest {
  /** A name, or an address without brackets. */
  readonly hostname: string;
  readonly port: number;
  readonly family: WantedFamily;
  /** Maximum number of requests: datagrams get lost. */
  readonly attempts: number;
  /** Timeout of each request. */
  readonly attemptTimeoutMs: number;
}

/** A server's answer, and what it says about the clocks. */
export interface NtpReading {
  readonly answer: NtpAnswer;
  /** Clock of the server minus clock of this host, in milliseconds (RFC 5905 section 8). */
  readonly offsetMs: number;
  /** Time on the network, both ways together, without the processing of the server. */
  readonly roundTripMs: number;
  /** How exactly the clock of this host is known at the request and at the answer. */
  readonly clockDoubtMs: number;
}

/** Result of a probe. */
export interface NtpProbeResult {
  /** Undefined if the server answered. */
  readonly error: ProbeError | undefined;
  readonly reading: NtpReading | undefined;
  readonly sentCount: number;
  /** Datagrams from the server that were not answers to a request. */
  readonly ignoredCount: number;
  readonly dnsMs: number;
  /** From the last request to its answer, or to the end. */
  readonly waitMs: number;
  readonly measurement: ProbeMeasurement;
  readonly address: string | null;
}

/**
 * Asks a server for the time by SNTPv4 (RFC 5905 section 14, RFC 4330). A request that stays without an answer is
 * followed by another one, with a port and an identification of its own. Never throws because of a peer; a rejection is
 * a bug of ours.
 */
export async function probeNtp(
  request: NtpProbeRequest,
  controls: UdpProbeControls,
  clock: WallClock,
): Promise<NtpProbeResult> {
  const { hostname, port, family, attempts, attemptTimeoutMs } = request;
  const startMs = performance.now();
  const ignored = { notNtp: 0, otherRequest: 0 };
  let sentCount = 0;
  let dnsMs = 0;
  let waitedMs = 0;
  let resolver = controls.resolver;
  for (;;) {
    const nonce = randomBytes(8);
    let sentAtMs = 0;
    let receivedAtMs = 0;
    let answer: NtpAnswer | undefined;
    const exchange = {
      data: () => {
        const packet = requestPacket(nonce);
        sentAtMs = clock();
        return packet;
      },
      accept: (packet: Buffer) => {
        receivedAtMs = clock();
        const read = readAnswer(packet, nonce);
        if (read === 'not-ntp') ignored.notNtp += 1;
        else if (read === 'other-request') ignored.otherRequest += 1;
        else answer = read;
        return answer !== undefined;
      },
    };
    const timeoutMs = controls.timeoutMs - (performance.now() - startMs);
    const result = await probeUdp(
      { hostname, port, family, exchanges: [exchange], attempts: 1, attemptTimeoutMs },
      { ...controls, resolver, timeoutMs },
    );
    sentCount += result.sentCount;
    dnsMs += result.dnsMs;
    const common = {
      sentCount,
      ignoredCount: ignored.notNtp + ignored.otherRequest,
      dnsMs,
      ...{ waitMs: result.waitMs, measurement: result.measurement, address: result.address },
    };
    if (answer) {
      const reading = readingOf(answer, { sentAtMs, receivedAtMs }, result);
      return { ...common, error: undefined, reading };
    }
    waitedMs += result.waitMs;
    const isSilent = result.error?.kind === 'response-timeout' && !controls.signal.aborted;
    const leftMs = controls.timeoutMs - (performance.now() - startMs);
    if (!isSilent || sentCount >= attempts || leftMs <= 0) {
      const error = isSilent ? silence(result, { ...ignored, sentCount, waitedMs }) : result.error;
      return { ...common, error, reading: undefined };
    }
    // The name has been resolved already.
    if (result.address !== null) resolver = pinned(resolver, hostname, result.address);
  }
}

/**
 * Offset and delay by the four timestamps (RFC 5905 section 8). The time between request and answer is the kernel's; of
 * the two readings of the clock around it, the one at the request is less late.
 */
function readingOf(
  answer: NtpAnswer,
  { sentAtMs, receivedAtMs }: { readonly sentAtMs: number; readonly receivedAtMs: number },
  { waitMs, measurement }: UdpProbeResult,
): NtpReading {
  const spareMs = Math.max(0, receivedAtMs - sentAtMs - waitMs);
  const beganMs = sentAtMs + Math.max(0, spareMs - measurement.lagMs);
  const toServerMs = msBetweenStamps(stampOf(beganMs), answer.received);
  const fromServerMs = msBetweenStamps(stampOf(beganMs + waitMs), answer.transmitted);
  const servedMs = msBetweenStamps(answer.received, answer.transmitted);
  return {
    answer,
    offsetMs: (toServerMs + fromServerMs) / 2,
    roundTripMs: Math.max(0, waitMs - servedMs),
    clockDoubtMs: spareMs,
  };
}

function silence(
  { error }: UdpProbeResult,
  seen: {
    readonly notNtp: number;
    readonly otherRequest: number;
    readonly sentCount: number;
    readonly waitedMs: number;
  },
): ProbeError | undefined {
  if (!error) return undefined;
  const { notNtp, otherRequest, sentCount } = seen;
  const sent = sentCount > 1 ? `; ${sentCount} requests were sent` : '';
  const others = otherRequest > 0 ? `; ignored ${otherRequest} answers to other requests` : '';
  const isMalformed = notNtp > 0 && otherRequest === 0;
  const message = isMalformed
    ? `received ${notNtp} datagrams that are not NTP answers, and nothing else; ${error.message}${sent}`
    : `${error.message}${sent}${others}`;
  const kind = isMalformed ? 'response-malformed' : error.kind;
  const found = new ProbeError(kind, 'firstByte', message, isMalformed ? undefined : 'ETIMEDOUT');
  found.waitedMs = seen.waitedMs;
  return found;
}

function pinned(inner: Resolver, hostname: string, address: string): Resolver {
  const known: ResolvedAddress = { address, family: address.includes(':') ? 6 : 4 };
  return {
    resolve: async (name, family, controls) =>
      name === hostname ? [known] : await inner.resolve(name, family, controls),
  };
}
