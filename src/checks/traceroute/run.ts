import { release } from 'node:os';
import { type IcmpBackend, IcmpUnavailable } from '../../probes/echo/backend.ts';
import { unsentError } from '../../probes/icmp/errors.ts';
import { openIcmpBackend } from '../../probes/icmp/open-backend.ts';
import { openTimekeeper } from '../../probes/kernel-thread/timekeeper.ts';
import { type Libc, loadLibc, SysUnavailable } from '../../probes/sys/libc.ts';
import { echoProber, type HopProber } from '../../probes/traceroute/hop-prober.ts';
import { probeRoute, type RouteProbeResult } from '../../probes/traceroute/probe.ts';
import { routerNames } from '../../probes/traceroute/router-names.ts';
import { SocketProber } from '../../probes/traceroute/socket-prober.ts';
import { CapabilityMissing, type Failure, failure } from '../contract/failure.ts';
import type { LoadedRunner, Measurement, Outcome, Runner } from '../contract/outcome.ts';
import { unjudged } from '../contract/outcome.ts';
import type { RunContext } from '../contract/run-context.ts';
import { jobLogOf } from '../contract/run-log.ts';
import { parseHostname } from '../contract/target.ts';
import type { Assertion } from '../judging/assertion.ts';
import { evaluateAssertions } from '../judging/evaluate.ts';
import { probeFailure } from '../judging/probe-failure.ts';
import { render, TemplateError } from '../judging/templating.ts';
import { judge } from '../judging/verdict.ts';
import { logFamily, wantedFamily } from '../judging/wanted-family.ts';
import type { TracerouteDetail } from './detail.ts';
import { type ProbeProtocol, portOf, type TracerouteSpec } from './spec.ts';
import { routeFailure, unsentErrno } from './verdict.ts';
import { addressesOf, type Response, responseOf, sourcesOf } from './view.ts';

/** The name of a router is worth that much more time, and no more. */
const namesTimeoutMs = 1000;

/** What this host can send. A text says why it cannot. */
interface Means {
  readonly icmp: IcmpBackend | string;
  readonly sockets: Libc | string;
}

/**
 * Finds out which probes this host can send, and makes a runner of that.
 *
 * @throws CapabilityMissing when it can send none.
 */
export async function openTracerouteRunner(): Promise<LoadedRunner<TracerouteSpec, TracerouteDetail>> {
  const [icmp, sockets] = await Promise.all([
    openIcmpBackend().catch((thrown: unknown) => reasonOf(thrown)),
    loadLibc().catch((thrown: unknown) => reasonOf(thrown)),
  ]);
  if (typeof icmp === 'string' && typeof sockets === 'string') {
    throw new CapabilityMissing(failure('TRACEROUTE_UNAVAILABLE', `${sockets}; ${icmp}`));
  }
  await openTimekeeper();
  const backend = [
    typeof sockets === 'string' ? 'neither TCP nor UDP' : 'TCP and UDP sockets',
    typeof icmp === 'string' ? 'no ICMP' : icmp.description,
  ].join(', ');
  return { run: tracerouteRunner({ icmp, sockets }), backend };
}

function reasonOf(thrown: unknown): string {
  if (thrown instanceof IcmpUnavailable || thrown instanceof SysUnavailable) return thrown.message;
  throw thrown;
}

/** Runs traceroute monitors: the way to one host, judged by whether it ends there. */
export function tracerouteRunner(means: Means): Runner<TracerouteSpec, TracerouteDetail> {
  return async (spec, context) => {
    const startMs = performance.now();
    const { request } = spec;
    const ready = prepare(request, context.variables);
    if ('failure' in ready) return failedOutcome(spec, context, ready.failure);
    const { hostname } = ready;
    const prober = proberOf(means, request.protocol, portOf(request));
    if ('code' in prober) return failedOutcome(spec, context, prober, hostname);
    const wanted = wantedFamily(request.ipFamily, context.log);
    const leftMs = context.timeoutMs - (performance.now() - startMs);
    const result = await probeRoute(
      {
        hostname,
        wanted,
        port: portOf(request) ?? undefined,
        maxHops: request.maxHops,
        maxSilentHops: request.maxUnknownHops,
        probesPerHop: request.probesPerHop,
        replyTimeoutMs: request.probeTimeoutMs,
      },
      { prober, ...context, timeoutMs: Math.min(leftMs, request.timeout * 1000) },
    );
    logFamily(hostname, result.address, wanted, context.log);
    const measurement: Measurement = {
      clock: prober.clock,
      overheadMs: 0,
      lagMs: 0,
      waitedMs: result.error ? undefined : performance.now() - startMs,
    };
    const names = request.ptrLookup ? await namesIn(result, context, startMs) : new Map<string, string>();
    const run = { ...ready, result, prober, names };
    return { ...judgedOutcome(spec, context, run), measurement };
  };
}

/** What sends the probes of a check here, or why nothing can. */
function proberOf(means: Means, protocol: ProbeProtocol, port: number | null): HopProber | Failure {
  if (protocol === 'ICMP') {
    const { icmp } = means;
    return typeof icmp === 'string' ? failure('ICMP_UNAVAILABLE', icmp) : echoProber(icmp);
  }
  const { sockets } = means;
  if (typeof sockets === 'string') return failure('TRACEROUTE_UNAVAILABLE', `${sockets}; ICMP may work`);
  if (protocol === 'TCP' && !hasErrorsOfConnections(release())) {
    const message = `Linux ${release()} keeps errors about connections to itself: TCP needs 5.8, UDP and ICMP do not`;
    return failure('TRACEROUTE_UNAVAILABLE', message);
  }
  return new SocketProber(sockets, { protocol, port: port ?? 0 });
}

/** Since Linux 5.8 programs without privileges get what routers say about connections they are making. */
function hasErrorsOfConnections(kernelRelease: string): boolean {
  const [major = 0, minor = 0] = kernelRelease.split('.').map((part) => Number.parseInt(part, 10));
  return major > 5 || (major === 5 && minor >= 8);
}

interface Prepared {
  readonly hostname: string;
  readonly assertions: readonly Assertion[];
}

/** Fills in the templates of a check, or says what is wrong with the definition. */
function prepare(
  request: TracerouteSpec['request'],
  variables: Readonly<Record<string, string>>,
): Prepared | { readonly failure: Failure } {
  try {
    const written = render(request.url, variables, 'raw');
    const hostname = parseHostname(written);
    if (hostname === undefined) {
      const message = `${JSON.stringify(written)} is neither a host name nor an address`;
      return { failure: failure('HOST_INVALID', `${message}; scheme, port and path do not belong there`) };
    }
    const assertions = request.assertions.map((assertion) => ({
      ...assertion,
      target: render(assertion.target, variables, 'raw'),
    }));
    return { hostname, assertions };
  } catch (thrown) {
    if (thrown instanceof TemplateError) return { failure: failure('TEMPLATE_INVALID', thrown.message) };
    throw thrown;
  }
}

/** The names of all that answered, asked of the location's own name server. */
async function namesIn(
  { route }: RouteProbeResult,
  { resolver, egress, signal, timeoutMs }: RunContext,
  startMs: number,
): Promise<ReadonlyMap<string, string>> {
  const addresses = [...new Set(route?.hops.flatMap(addressesOf))];
  const [server] = resolver.nameServers?.() ?? [];
  const leftMs = timeoutMs - (performance.now() - startMs);
  return await routerNames(addresses, server, {
    signal,
    egress,
    timeoutMs: Math.min(namesTimeoutMs, leftMs),
  });
}

interface Run extends Prepared {
  readonly result: RouteProbeResult;
  readonly prober: HopProber;
  readonly names: ReadonlyMap<string, string>;
}

function judgedOutcome(spec: TracerouteSpec, context: RunContext, run: Run): Outcome<TracerouteDetail> {
  const { hostname, result, prober, names } = run;
  const { route, error } = result;
  const { protocol } = spec.request;
  const response = route ? responseOf(hostname, protocol, result, route, names) : null;
  if (error || !route || !response) {
    const failed = error ? probeFailure(error) : failure('RUN_ABORTED', 'the run was stopped');
    return failedOutcome(spec, context, failed, hostname, response);
  }
  const errno = unsentErrno(route);
  if (errno !== undefined) {
    const unsent = unsentError(errno, result.address ?? hostname, prober, 'probes');
    return failedOutcome(spec, context, probeFailure(unsent), hostname, response);
  }
  const rounds = Math.min(...response.hops.map(({ sent }) => sent));
  if (response.destinationReached && rounds < spec.request.probesPerHop) {
    const message = `the time was over after ${rounds} of ${spec.request.probesPerHop} rounds`;
    context.log.write('WARN', message);
  }
  const responseTimeMs = response.finalHopLatency?.avg ?? 0;
  const assertions = evaluateAssertions(run.assertions, sourcesOf(response));
  const verdict = judge({
    responseTimeMs,
    degradedResponseTime: spec.degradedResponseTime,
    maxResponseTime: spec.maxResponseTime,
    // What is not there has no way to be judged: one reason is enough.
    assertions: response.destinationReached || spec.shouldFail ? assertions : [],
    operationFailure: spec.shouldFail ? unexpected(response) : routeFailure(response, route, spec.request),
  });
  const detail = { ...detailOf(spec, context, hostname, response), assertions };
  return { ...verdict, responseTimeMs, detail };
}

function unexpected({ destinationReached, resolvedIp, totalHops }: Response): Failure | undefined {
  if (!destinationReached) return undefined;
  const message = `${resolvedIp} answered in hop ${totalHops}, and the check expects that it cannot be reached`;
  return failure('REPLY_UNEXPECTED', message);
}

/** Nothing that could be judged: what is known of the way stays visible. */
function failedOutcome(
  spec: TracerouteSpec,
  context: RunContext,
  failed: Failure,
  hostname = spec.request.url,
  response: Response | null = null,
): Outcome<TracerouteDetail> {
  const detail = { ...detailOf(spec, context, hostname, response), requestError: failed.message };
  return { ...unjudged(failed), responseTimeMs: 0, detail };
}

function detailOf(
  { request }: TracerouteSpec,
  { log }: RunContext,
  url: string,
  response: Response | null,
): TracerouteDetail {
  const { protocol, ipFamily, maxHops, maxUnknownHops, probesPerHop } = request;
  return {
    assertions: [],
    request: { url, protocol, port: portOf(request), ipFamily, maxHops, maxUnknownHops, probesPerHop },
    response,
    requestError: null,
    jobLog: jobLogOf(log),
  };
}
