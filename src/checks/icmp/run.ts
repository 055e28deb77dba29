import type { IpFamily } from '../../probes/address.ts';
import { type EchoAnswer, isDroppedHere, pingStatistics } from '../../probes/echo/answers.ts';
import { type IcmpBackend, IcmpUnavailable } from '../../probes/echo/backend.ts';
import { describeIcmpError, unsentError } from '../../probes/icmp/errors.ts';
import { openIcmpBackend } from '../../probes/icmp/open-backend.ts';
import { type IcmpProbeResult, probeIcmp } from '../../probes/icmp/probe.ts';
import { onAddresses } from '../addresses/on-addresses.ts';
import { CapabilityMissing, type Failure, failure } from '../contract/failure.ts';
import type { LoadedRunner, Measurement, Outcome, Runner } from '../contract/outcome.ts';
import { timesToMicroseconds, toMicroseconds, unjudged, withDiagnosisTime } from '../contract/outcome.ts';
import type { RunContext } from '../contract/run-context.ts';
import { jobLogOf } from '../contract/run-log.ts';
import { parseHostname } from '../contract/target.ts';
import { noEvidence } from '../evidence/evidence.ts';
import type { Assertion, EvaluatedAssertion } from '../judging/assertion.ts';
import { evaluateAssertions, type Sources } from '../judging/evaluate.ts';
import { probeFailure } from '../judging/probe-failure.ts';
import { render, TemplateError } from '../judging/templating.ts';
import { judge } from '../judging/verdict.ts';
import { logFamily, wantedFamily } from '../judging/wanted-family.ts';
import type { IcmpDetail, PingResult } from './detail.ts';
import { type JudgedPings, pingWithDiagnosis } from './diagnosed-pings.ts';
import { defaultPacketBytes, type IcmpSpec } from './spec.ts';
import { judgeLoss, silence } from './verdict.ts';

/** check model 1.6 */
const intervalMs = 500;
const icmpHeaderBytes = 8;
const defaultPingCount = 10;

/**
 * Opens the best way to ping that works on this host, and makes a runner of it.
 *
 * @throws CapabilityMissing when there is none, with what would have to change.
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

function pingOnce(backend: IcmpBackend): Runner<IcmpSpec, IcmpDetail> {
  return async (spec, context) => {
    const startMs = performance.now();
    const prepared = prepareRequest(spec.request, context.variables);
    if ('failure' in prepared) return unsentOutcome(spec, context, prepared.failure);
    const { request } = prepared;
    const family = wantedFamily(spec.request.ipFamily, context.log);
    const train = {
      hostname: request.hostname,
      family,
      count: request.count,
      intervalMs,
      dataBytes: request.packetBytes - icmpHeaderBytes,
      dontFragment: spec.request.dontFragment,
    };
    const controls = {
      backend,
      resolver: context.resolver,
      egress: context.egress,
      signal: context.signal,
      timeoutMs: context.timeoutMs - (performance.now() - startMs),
    };
    const hold = async (): Promise<JudgedPings<IcmpDetail>> => {
      const result = await probeIcmp(train, controls);
      const run = { request, result, backend };
      logFamily(request.hostname, result.address, family, context.log);
      // The engine reads what has arrived before it calls anything lost, however late it is.
      const isWaitingAlone = backend.clock === 'kernel' && !result.error;
      const measurement: Measurement = {
        clock: backend.clock,
        overheadMs: 0,
        lagMs: 0,
        waitedMs: isWaitingAlone ? performance.now() - startMs : undefined,
      };
      const outcome = result.error
        ? failedOutcome(context, run, probeFailure(result.error))
        : judgedOutcome(spec, context, run);
      return { result, outcome: { ...outcome, measurement } };
    };
    const { result, evidence, diagnosisMs } = await pingWithDiagnosis({ train, controls, hold }, context);
    const outcome = withDiagnosisTime(result.outcome, diagnosisMs);
    return { ...outcome, detail: { ...outcome.detail, ...evidence, jobLog: jobLogOf(context.log) } };
  };
}

/** A check that can be run: templates filled in. */
interface PreparedRequest {
  readonly hostname: string;
  readonly count: number;
  /** With the ICMP header. */
  readonly packetBytes: number;
  readonly assertions: readonly Assertion[];
}

interface IcmpRun {
  readonly request: PreparedRequest;
  readonly result: IcmpProbeResult;
}

/** Fills in the templates of an ICMP monitor, or says what is wrong with the definition. */
function prepareRequest(
  request: IcmpSpec['request'],
  variables: Readonly<Record<string, string>>,
): { readonly request: PreparedRequest } | { readonly failure: Failure } {
  try {
    const written = render(request.hostname, variables, 'raw');
    const hostname = parseHostname(written);
    if (hostname === undefined) {
      const message = `${JSON.stringify(written)} is neither a host name nor an address`;
      return { failure: failure('HOST_INVALID', `${message}; scheme, port and path do not belong there`) };
    }
    const assertions = request.assertions.map((assertion) => ({
      ...assertion,
      target: render(assertion.target, variables, 'raw'),
    }));
    const count = request.pingCount ?? defaultPingCount;
    const packetBytes = request.packetSize ?? defaultPacketBytes;
    return { request: { hostname, count, packetBytes, assertions } };
  } catch (thrown) {
    if (thrown instanceof TemplateError) return { failure: failure('TEMPLATE_INVALID', thrown.message) };
    throw thrown;
  }
}

function judgedOutcome(
  spec: IcmpSpec,
  context: RunContext,
  run: IcmpRun & { readonly backend: IcmpBackend },
): Outcome<IcmpDetail> {
  const { request, result, backend } = run;
  const response = responseOf(run);
  const loss = judgeLoss(response, spec);
  const unsent = result.answers.filter((answer) => answer.kind === 'unsent');
  const sent = result.answers.filter((answer) => answer.kind !== 'unsent');
  const [firstUnsent] = unsent;
  if (firstUnsent) {
    const error = unsentError(firstUnsent.errno, result.address ?? request.hostname, backend);
    context.log.write('WARN', `${unsent.length} of ${request.count} requests do not count: ${error.message}`);
    // A network that fails here loses packets on their way too: then a loss proves nothing about the target. A
    // firewall drops its own share and no more: what did go out has to be answered.
    const isDecidedByLoss = spec.shouldFail ? !loss.failure : loss.failure || loss.isDegraded;
    const lossOfSent = judgeLoss(responseOf({ request, result: { ...result, answers: sent } }), spec);
    const isTargetsLoss = unsent.every(isDroppedHere) && !spec.shouldFail && lossOfSent.failure !== undefined;
    if (isDecidedByLoss && !isTargetsLoss) return failedOutcome(context, run, probeFailure(error));
  }
  const responseTimeMs = response.latency?.avg ?? 0;
  const assertions = evaluateAssertions(request.assertions, sourcesOf(response));
  const verdict = judge({
    responseTimeMs,
    degradedResponseTime: spec.degradedResponseTime,
    maxResponseTime: spec.maxResponseTime,
    assertions,
    operationFailure: loss.failure,
  });
  return {
    ...verdict,
    isDegraded: verdict.isDegraded || (verdict.failure === undefined && loss.isDegraded),
    // Packets that were lost stay lost, however the time is counted.
    timeExcessMs: verdict.failure === undefined && loss.isDegraded ? undefined : verdict.timeExcessMs,
    responseTimeMs,
    detail: detailOf(context, run, { response, assertions }),
  };
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

/** Nothing that could be judged: the answers that came stay visible. */
function failedOutcome(context: RunContext, run: IcmpRun, failed: Failure): Outcome<IcmpDetail> {
  const response = responseOf(run);
  return {
    ...unjudged(failed),
    responseTimeMs: response.latency?.avg ?? 0,
    detail: detailOf(context, run, { response, requestError: failed.message }),
  };
}

/** The definition could not be made into a request. */
function unsentOutcome({ request }: IcmpSpec, context: RunContext, failed: Failure): Outcome<IcmpDetail> {
  const { hostname, pingCount, packetSize, ipFamily } = request;
  const result: IcmpProbeResult = {
    error: undefined,
    address: null,
    family: ipFamily === 'IPv6' ? 6 : 4,
    lookupMs: 0,
    answers: [],
  };
  const count = pingCount ?? defaultPingCount;
  const packetBytes = packetSize ?? defaultPacketBytes;
  return failedOutcome(
    context,
    { request: { hostname, count, packetBytes, assertions: [] }, result },
    failed,
  );
}

function responseOf({ request, result }: IcmpRun): IcmpDetail['response'] {
  const { answers, address, family, lookupMs } = result;
  const { sent, received, latency } = pingStatistics(answers);
  return {
    hostname: request.hostname,
    resolvedIp: address,
    ipFamily: family === 6 ? 'IPv6' : 'IPv4',
    pingCount: request.count,
    packetsSent: sent,
    packetsReceived: received,
    packetSize: request.packetBytes,
    packetLoss: sent === 0 ? null : toThousandths((100 * (sent - received)) / sent),
    dnsResolutionTime: toMicroseconds(lookupMs),
    latency: latency && timesToMicroseconds(latency),
    pingResults: answers.map((answer) => pingResultOf(answer, result)),
  };
}

/** One request as a result shows it. */
function pingResultOf(answer: EchoAnswer, { address, family }: IcmpProbeResult): PingResult {
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
      return { ...nothing, error: answer.remark ? `${silence}; ${answer.remark}` : silence };
    case 'unsent':
      return { ...nothing, error: `not sent: ${answer.errno}` };
  }
}

function toThousandths(percent: number): number {
  return Math.round(percent * 1000) / 1000;
}

function detailOf(
  { log }: RunContext,
  { request }: IcmpRun,
  found: {
    readonly response: IcmpDetail['response'];
    readonly assertions?: EvaluatedAssertion[];
    readonly requestError?: string;
  },
): IcmpDetail {
  const { response } = found;
  return {
    assertions: found.assertions ?? [],
    request: {
      hostname: request.hostname,
      targetIp: response.resolvedIp,
      ipFamily: response.ipFamily,
      pingCount: request.count,
    },
    response,
    requestError: found.requestError ?? null,
    jobLog: jobLogOf(log),
    ...noEvidence,
  };
}
