import type { IpFamily } from '@picket/probes/address.ts';
import { type IcmpBackend, IcmpUnavailable } from '@picket/probes/icmp/backend.ts';
import type { EchoAnswer } from '@picket/probes/icmp/echo/answers.ts';
import { describeIcmpError, unsentError } from '@picket/probes/icmp/errors.ts';
import { openIcmpBackend } from '@picket/probes/icmp/open-backend.ts';
import { type IcmpProbeRequest, type IcmpProbeResult, probeIcmp } from '@picket/probes/icmp/probe.ts';
import { isDroppedHere, pingStatistics } from '@picket/probes/icmp/statistics.ts';
import { onAddresses } from '../addresses/on-addresses.ts';
import { CapabilityMissing, type Failure, failure } from '../contract/failure.ts';
import type { LoadedRunner, Runner } from '../contract/outcome.ts';
import { timesToMicroseconds, toMicroseconds } from '../contract/outcome.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { Assertion } from '../judging/assertion.ts';
import type { Sources } from '../judging/evaluate.ts';
import { filledAssertions, filledHostname } from '../judging/filled.ts';
import { probeFailure } from '../judging/probe-failure.ts';
import { logFamily, wantedFamily } from '../judging/wanted-family.ts';
import { noEvidence } from '../runner/evidence.ts';
import { type ProbeRun, probeRunner, type Reading } from '../runner/probe-runner.ts';
import type { IcmpDetail, PingResult } from './detail.ts';
import { pingWithDiagnosis, type ReadPings } from './diagnosed-pings.ts';
import { defaultPacketBytes, type IcmpSpec } from './spec.ts';
import { judgeLoss, type LossVerdict, noReply } from './verdict.ts';

/** check model 1.6 */
const intervalMs = 500;
const icmpHeaderBytes = 8;
const defaultPingCount = 10;

/**
 * Opens the best ICMP backend that works on this host, and creates a runner for it.
 *
 * @throws CapabilityMissing if none works, with the required change.
 */
export async function openIcmpRunner(): Promise<LoadedRunner<IcmpSpec, IcmpDetail>> {
  try {
    const backend = await openIcmpBackend();
    return { run: icmpRunner(backend), backend: backend.description };
  } catch (thrown) {
    if (!(thrown instanceof IcmpUnavailable)) throw thrown;
    throw new CapabilityMissing(failure('ICMP_UNAVAILABLE', thrown.message));
  }
}

/** Runs ICMP monitors: echo requests to one host, judged by their loss and their latency. */
export function icmpRunner(backend: IcmpBackend): Runner<IcmpSpec, IcmpDetail> {
  const once = pingOnce(backend);
  return async (spec, context) => {
    const withFamily = (family: IpFamily | undefined): IcmpSpec =>
      family ? { ...spec, request: { ...spec.request, ipFamily: `IPv${family}` } } : spec;
    return await onAddresses(
      {
        choice: spec.request.addresses,
        isProxied: false,
        once: (own, { family }) => once(withFamily(family), own),
        connectMs: ({ response }) => response.latency?.min,
      },
      context,
    );
  };
}

/** A prepared check: templates filled in. */
interface PreparedPings {
  readonly assertions: readonly Assertion[];
  readonly train: IcmpProbeRequest;
}

type Run = ProbeRun<IcmpSpec, PreparedPings>;
type OwnDetail = Pick<IcmpDetail, 'request' | 'response'>;

function pingOnce(backend: IcmpBackend): Runner<IcmpSpec, IcmpDetail> {
  return probeRunner({
    prepare,
    unsent: (spec) => {
      const { hostname, ipFamily } = spec.request;
      const result = {
        address: null,
        family: ipFamily === 'IPv6' ? 6 : 4,
        lookupMs: 0,
        answers: [],
      } as const;
      return { ...detailOf(responseOf(hostname, sizesOf(spec), result)), ...noEvidence };
    },
    hold: (run: Run) => {
      const controls = { ...run.controls, backend };
      const hold = async (): Promise<ReadPings<OwnDetail>> => {
        const result = await probeIcmp(run.prepared.train, controls);
        return { result, reading: read(run, result, backend) };
      };
      return pingWithDiagnosis({ train: run.prepared.train, controls, hold }, run.context);
    },
    read: (_run, { reading }) => reading,
  });
}

/** Fills in the templates of an ICMP monitor, or returns what is wrong with the definition. @throws TemplateError */
function prepare(
  spec: IcmpSpec,
  { variables, log }: RunContext,
): PreparedPings | { readonly failure: Failure } {
  const { request } = spec;
  const host = filledHostname(request.hostname, variables);
  if ('failure' in host) return host;
  const assertions = filledAssertions(request.assertions, variables);
  const { count, packetBytes } = sizesOf(spec);
  const train = {
    ...host,
    family: wantedFamily(request.ipFamily, log),
    count,
    intervalMs,
    dataBytes: packetBytes - icmpHeaderBytes,
    dontFragment: request.dontFragment,
  };
  return { assertions, train };
}

interface Sizes {
  readonly count: number;
  /** Including the ICMP header. */
  readonly packetBytes: number;
}

function sizesOf({ request: { pingCount, packetSize } }: IcmpSpec): Sizes {
  return { count: pingCount ?? defaultPingCount, packetBytes: packetSize ?? defaultPacketBytes };
}

function read(
  { spec, prepared, context, startMs }: Run,
  result: IcmpProbeResult,
  backend: IcmpBackend,
): Reading<OwnDetail> {
  const { train, assertions } = prepared;
  logFamily(train.hostname, result.address, train.family, context.log);
  // The engine reads received packets before it reports any as lost, however late it is.
  const isWaitingAlone = backend.clock === 'kernel' && !result.error;
  const response = responseOf(train.hostname, sizesOf(spec), result);
  const measured = {
    responseTimeMs: response.latency?.avg ?? 0,
    measurement: {
      clock: backend.clock,
      overheadMs: 0,
      lagMs: 0,
      waitedMs: isWaitingAlone ? performance.now() - startMs : undefined,
    },
  };
  const detail = detailOf(response);
  if (result.error) return { failure: probeFailure(result.error), measured, detail };
  const loss = judgeLoss(response, spec);
  const unsent = unsentFailure({ spec, prepared, context }, result, loss, backend);
  if (unsent) return { failure: unsent, measured, detail };
  return {
    ...{ measured, detail, assertions },
    sources: sourcesOf(response),
    limits: spec,
    operationFailure: loss.failure,
    // Lost packets stay lost, whatever the response time.
    ...(loss.isDegraded && { degradedReasons: [] }),
  };
}

/** Returns the failure if requests that this host could not send leave the loss unknown; logs them in any case. */
function unsentFailure(
  { spec, prepared: { train }, context }: Pick<Run, 'spec' | 'prepared' | 'context'>,
  result: IcmpProbeResult,
  loss: LossVerdict,
  backend: IcmpBackend,
): Failure | undefined {
  const unsent = result.answers.filter((answer) => answer.kind === 'unsent');
  const sent = result.answers.filter((answer) => answer.kind !== 'unsent');
  const [firstUnsent] = unsent;
  if (!firstUnsent) return undefined;
  const error = unsentError(firstUnsent.errno, result.address ?? train.hostname, backend);
  context.log.write('WARN', `${unsent.length} of ${train.count} requests do not count: ${error.message}`);
  // If the network fails here, it also loses packets in transit, so a loss proves nothing about the target. A firewall
  // drops only its own share: the target must answer the packets that were sent.
  const isDecidedByLoss = spec.shouldFail ? !loss.failure : loss.failure || loss.isDegraded;
  const ofSent = responseOf(train.hostname, sizesOf(spec), { ...result, answers: sent });
  const isTargetsLoss =
    unsent.every(isDroppedHere) && !spec.shouldFail && judgeLoss(ofSent, spec).failure !== undefined;
  return isDecidedByLoss && !isTargetsLoss ? probeFailure(error) : undefined;
}

function sourcesOf(response: IcmpDetail['response']): Sources {
  return {
    LATENCY: () =>
      response.latency
        ? { kind: 'fields', fields: response.latency }
        : { kind: 'unavailable', reason: 'there is no latency: no echo request was answered' },
    JSON_RESPONSE: () => ({ kind: 'json', document: response }),
  };
}

function responseOf(
  hostname: string,
  { count, packetBytes }: Sizes,
  result: Omit<IcmpProbeResult, 'error'>,
): IcmpDetail['response'] {
  const { answers, address, family, lookupMs } = result;
  const { sent, received, latency } = pingStatistics(answers);
  return {
    hostname,
    resolvedIp: address,
    ipFamily: family === 6 ? 'IPv6' : 'IPv4',
    pingCount: count,
    packetsSent: sent,
    packetsReceived: received,
    packetSize: packetBytes,
    packetLoss: sent === 0 ? null : toThousandths((100 * (sent - received)) / sent),
    dnsResolutionTime: toMicroseconds(lookupMs),
    latency: latency && timesToMicroseconds(latency),
    pingResults: answers.map((answer) => pingResultOf(answer, result)),
  };
}

/** One request as a result shows it. */
function pingResultOf(
  answer: EchoAnswer,
  { address, family }: Pick<IcmpProbeResult, 'address' | 'family'>,
): PingResult {
  const { sequence } = answer;
  const nothing = { sequence, type: null, code: null, success: false, rtt: null, ttl: null, from: null };
  switch (answer.kind) {
    case 'reply': {
      const { type, code, ttl, rttMs } = answer;
      const rtt = toMicroseconds(rttMs);
      return { sequence, type, code, success: true, rtt, ttl, from: address, error: null };
    }
    case 'error': {
      const { type, code, from, rttMs, mtuBytes } = answer;
      const mtu = mtuBytes === null ? '' : `, MTU ${mtuBytes}`;
      const error = `${describeIcmpError(family, type, code)}${mtu}`;
      return { ...nothing, type, code, rtt: rttMs === null ? null : toMicroseconds(rttMs), from, error };
    }
    case 'silence':
      return { ...nothing, error: answer.remark ? `${noReply}; ${answer.remark}` : noReply };
    case 'unsent':
      return { ...nothing, error: `not sent: ${answer.errno}` };
  }
}

function toThousandths(percent: number): number {
  return Math.round(percent * 1000) / 1000;
}

function detailOf(response: IcmpDetail['response']): OwnDetail {
  const { hostname, resolvedIp: targetIp, ipFamily, pingCount } = response;
  return { request: { hostname, targetIp, ipFamily, pingCount }, response };
}
