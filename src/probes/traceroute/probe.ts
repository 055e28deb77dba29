import { type IpFamily, type ResolvedAddress, type WantedFamily, wireAddress } from '../address.ts';
import { classifyError, egressDenied, ProbeError } from '../connection/errors.ts';
import { isTimeout } from '../connection/interruption.ts';
import { withinLimits } from '../dns/limits.ts';
import type { EgressPolicy } from '../egress/policy.ts';
import { type LookupTimes, type Resolver, resolveWanted } from '../resolver.ts';
import type { HopProber } from './hop-prober.ts';
import { type Route, type TracerouteRequest, traceRoute } from './traceroute.ts';

/** A host to find the way to. */
export interface RouteProbeRequest extends Omit<TracerouteRequest, 'address' | 'family'> {
  /** A name, or an address without brackets. */
  readonly hostname: string;
  readonly wanted: WantedFamily;
  /** Where the probes go, if they go to a port: the egress policy is asked about it. */
  readonly port: number | undefined;
}

export interface RouteProbeControls {
  readonly prober: HopProber;
  readonly resolver: Resolver;
  readonly egress: EgressPolicy;
  /** Aborting ends it as `aborted`, or as a passed time limit when its reason is a TimeoutError. */
  readonly signal: AbortSignal;
  /** Limit for all of it, in milliseconds. */
  readonly timeoutMs: number;
}

export interface RouteProbeResult {
  /** Set when nothing can be said about the way: the name has no address, or the run was stopped. */
  readonly error: ProbeError | undefined;
  /** Where the probes went; null when none could. */
  readonly address: string | null;
  readonly family: IpFamily;
  /** How long the name lookup took, in milliseconds. */
  readonly lookupMs: number;
  readonly route: Route | undefined;
}

/** Looks a host up and finds the way to its first address. */
export async function probeRoute(
  { hostname, wanted, port, ...request }: RouteProbeRequest,
  controls: RouteProbeControls,
): Promise<RouteProbeResult> {
  const { prober, egress, signal, timeoutMs } = controls;
  const startMs = performance.now();
  let found: ResolvedAddress | undefined;
  let lookupMs = 0;
  const result = (rest: { readonly error?: ProbeError; readonly route?: Route }): RouteProbeResult => ({
    error: rest.error,
    address: found?.address ?? null,
    family: found?.family ?? (wanted === 6 ? 6 : 4),
    lookupMs,
    route: rest.route,
  });
  try {
    const resolved = await lookUp(hostname, wanted, controls, ({ elapsedMs }) => {
      lookupMs = elapsedMs;
    });
    const refusal = egress.refusal({ hostname, address: resolved.address, port });
    if (refusal) throw egressDenied('dns', refusal);
    found = resolved;
    const leftMs = timeoutMs - (performance.now() - startMs);
    const route = await traceRoute({ ...resolved, ...request }, { prober, signal, timeoutMs: leftMs });
    if (signal.aborted && !isTimeout(signal.reason)) {
      const message = `the run was stopped while the route to ${resolved.address} was being found`;
      return result({ error: new ProbeError('aborted', 'data', message), route });
    }
    return result({ route });
  } catch (thrown) {
    if (!(thrown instanceof ProbeError)) throw thrown;
    return result({ error: thrown });
  }
}

async function lookUp(
  hostname: string,
  wanted: WantedFamily,
  { resolver, signal, timeoutMs }: RouteProbeControls,
  onMeasured: (times: LookupTimes) => void,
): Promise<ResolvedAddress> {
  const addresses = await withinLimits<readonly ResolvedAddress[]>(
    { signal, timeoutMs },
    hostname,
    ({ resolve, reject }) => {
      const stop = new AbortController();
      resolveWanted(resolver, hostname, wanted, { signal: stop.signal, onMeasured }).then(
        resolve,
        (thrown: unknown) => reject(classifyError(thrown, 'dns', hostname)),
      );
      return () => stop.abort();
    },
    () => {
      const message = `timed out after ${Math.round(timeoutMs)} ms while looking up ${hostname}`;
      return new ProbeError('resolver-unavailable', 'dns', message, 'ETIMEDOUT');
    },
  );
  const [first] = addresses;
  if (!first) throw new Error('the resolver returned neither an address nor an error');
  return wireAddress(first);
}
