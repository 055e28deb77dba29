import { release } from 'node:os';
import { type IcmpBackend, IcmpUnavailable } from '@picket/probes/icmp/backend.ts';
import { unsentError } from '@picket/probes/icmp/errors.ts';
import { openIcmpBackend } from '@picket/probes/icmp/open-backend.ts';
import { openTimekeeper } from '@picket/probes/kernel-thread/timekeeper.ts';
import { type Libc, loadLibc, SysUnavailable } from '@picket/probes/sys/libc.ts';
import { echoProber, type HopProber } from '@picket/probes/traceroute/hop-prober.ts';
import { probeRoute, type RouteProbeResult } from '@picket/probes/traceroute/probe.ts';
import { routerNames } from '@picket/probes/traceroute/router-names.ts';
import { SocketProber } from '@picket/probes/traceroute/socket-prober.ts';
import { CapabilityMissing, type Failure, failure } from '../contract/failure.ts';
import type { LoadedRunner, Measurement, Runner } from '../contract/outcome.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { Assertion } from '../judging/assertion.ts';
import { filledAssertions, filledHostname } from '../judging/filled.ts';
import { probeFailure } from '../judging/probe-failure.ts';
import { logFamily, wantedFamily } from '../judging/wanted-family.ts';
import { type ProbeRun, probeRunner, type Reading } from '../runner/probe-runner.ts';
import type { TracerouteDetail } from './detail.ts';
import { type ProbeProtocol, portOf, type TracerouteSpec } from './spec.ts';
import { routeFailure, unsentErrno } from './verdict.ts';
import { addressesOf, type Response, responseOf, sourcesOf } from './view.ts';

/** Additional time for looking up the names of routers. */
const namesTimeoutMs = 1000;

/** Means of sending probes on this host; a text explains why one is missing. */
interface TracerouteTools {
  readonly icmp: IcmpBackend | string;
  readonly sockets: Libc | string;
}

/**
 * Detects which probes this host can send, and creates a runner for them.
 *
 * @throws CapabilityMissing if it can send none.
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

interface Prepared {
  readonly hostname: string;
  readonly assertions: readonly Assertion[];
  readonly prober: HopProber;
}

interface Found {
  readonly found: RouteProbeResult;
  readonly measurement: Measurement;
  readonly names: ReadonlyMap<string, string>;
}

type Run = ProbeRun<TracerouteSpec, Prepared>;
type OwnDetail = Pick<TracerouteDetail, 'request' | 'response'>;

/** Runs traceroute monitors: traces the path to one host and judges whether it reaches that host. */
export function tracerouteRunner(means: TracerouteTools): Runner<TracerouteSpec, TracerouteDetail> {
  return probeRunner({
    prepare: ({ request }: TracerouteSpec, { variables }): Prepared | { readonly failure: Failure } => {
      const host = filledHostname(request.url, variables);
      if ('failure' in host) return host;
      const prober = proberOf(means, request.protocol, portOf(request));
      if ('code' in prober) return { failure: prober };
      return { ...host, assertions: filledAssertions(request.assertions, variables), prober };
    },
    unsent: (spec) => detailOf(spec, spec.request.url, null),
    timeoutMs: ({ request }) => request.timeout * 1000,
    hold: async (run: Run) => ({ result: await hold(run), evidence: {}, diagnosisMs: 0 }),
    read,
  });
}

async function hold({ spec, prepared, controls, context, startMs }: Run): Promise<Found> {
  const { request } = spec;
  const { hostname, prober } = prepared;
  const wanted = wantedFamily(request.ipFamily, context.log);
  const found = await probeRoute(
    {
      hostname,
      wanted,
      port: portOf(request) ?? undefined,
      maxHops: request.maxHops,
      maxSilentHops: request.maxUnknownHops,
      probesPerHop: request.probesPerHop,
      replyTimeoutMs: request.probeTimeoutMs,
    },
    { ...controls, prober },
  );
  logFamily(hostname, found.address, wanted, context.log);
  const measurement: Measurement = {
    clock: prober.clock,
    overheadMs: 0,
    lagMs: 0,
    waitedMs: found.error ? undefined : performance.now() - startMs,
  };
  const names = request.ptrLookup ? await namesIn(found, context, startMs) : new Map<string, string>();
  return { found, measurement, names };
}

/** Returns the prober for a check's protocol, or why this host has none. */
function proberOf(means: TracerouteTools, protocol: ProbeProtocol, port: number | null): HopProber | Failure {
  if (protocol === 'ICMP') {
    const { icmp } = means;
    return typeof icmp === 'string' ? failure('ICMP_UNAVAILABLE', icmp) : echoProber(icmp);
  }
  const { sockets } = means;
  if (typeof sockets === 'string') return failure('TRACEROUTE_UNAVAILABLE', `${sockets}; ICMP may work`);
  if (protocol === 'TCP' && !hasErrorsOfConnections(release())) {
    const message = `Linux ${release()} does not report connection errors: TCP needs Linux 5.8, UDP and ICMP do not`;
    return failure('TRACEROUTE_UNAVAILABLE', message);
  }
  return new SocketProber(sockets, { protocol, port: port ?? 0 });
}

/** Since Linux 5.8 unprivileged programs receive ICMP errors for connections in progress. */
function hasErrorsOfConnections(kernelRelease: string): boolean {
  const [major = 0, minor = 0] = kernelRelease.split('.').map((part) => Number.parseInt(part, 10));
  return major > 5 || (major === 5 && minor >= 8);
}

/** Looks up the names of all addresses that replied at the location's own name server. */
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

function read({ spec, prepared, context }: Run, { found, measurement, names }: Found): Reading<OwnDetail> {
  const { hostname, prober, assertions } = prepared;
  const { route, error } = found;
  const { protocol, probesPerHop } = spec.request;
  const response = route ? responseOf(hostname, protocol, found, route, names) : null;
  const detail = detailOf(spec, hostname, response);
  const broken = (failed: Failure) => ({
    failure: failed,
    measured: { responseTimeMs: 0, measurement },
    detail,
  });
  if (error) return broken(probeFailure(error));
  if (!route || !response) return broken(failure('RUN_ABORTED', 'the run was stopped'));
  const errno = unsentErrno(route);
  if (errno !== undefined) {
    return broken(probeFailure(unsentError(errno, found.address ?? hostname, prober, 'probes')));
  }
  const rounds = Math.min(...response.hops.map(({ sent }) => sent));
  if (response.destinationReached && rounds < probesPerHop) {
    context.log.write('WARN', `the time limit was reached after ${rounds} of ${probesPerHop} rounds`);
  }
  return {
    measured: { responseTimeMs: response.finalHopLatency?.avg ?? 0, measurement },
    ...{ detail, assertions },
    sources: sourcesOf(response),
    limits: spec,
    // The assertions would fail too if the target is not reached: one reason is enough.
    areAssertionsShownOnly: !response.destinationReached && !spec.shouldFail,
    operationFailure: spec.shouldFail ? unexpected(response) : routeFailure(response, route, spec.request),
  };
}

function unexpected({ destinationReached, resolvedIp, totalHops }: Response): Failure | undefined {
  if (!destinationReached) return undefined;
  const message = `${resolvedIp} answered in hop ${totalHops}, but the check expects it to be unreachable`;
  return failure('REPLY_UNEXPECTED', message);
}

function detailOf({ request }: TracerouteSpec, url: string, response: Response | null): OwnDetail {
  const { protocol, ipFamily, maxHops, maxUnknownHops, probesPerHop } = request;
  return {
    request: { url, protocol, port: portOf(request), ipFamily, maxHops, maxUnknownHops, probesPerHop },
    response,
  };
}
