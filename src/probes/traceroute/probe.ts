import { type IpFamily, type ResolvedAddress, type WantedFamily, wireAddress } from '../address.ts';
import { classifyError, egressDenied, ProbeError } from '../connection/errors.ts';
import { isTimeout } from '../connection/interruption.ts';
import { withinLimits } from '../dns/limits.ts';
import type { EgressPolicy } from '../egress/policy.ts';
import { type LookupTimes, type Resolver, resolveWanted } from '../resolver.ts';
import type { HopProber } from './hop-prober.ts';
import { type Route, type TracerouteRequest, traceRoute } from './traceroute.ts';

/** A host whose route is traced. */
export interface RouteProbeRequest extends Omit<TracerouteRequest, 'address' | 'family'> {
  /** A name, or an address without brackets. */
  readonly hostname: string;
  readonly wanted: WantedFamily;
  /** Destination port of the probes, if any, for the egress policy. */
  readonly port: number | undefined;
}

export interface RouteProbeControls {
  readonly prober: HopProber;
  readonly resolver: Resolver;
  readonly egress: EgressPolicy;
  /** Aborting ends the trace with `aborted`, or with a timeout if the reason is a TimeoutError. */
  readonly signal: AbortSignal;
  /** Limit for the whole trace, in milliseconds. */
  readonly timeoutMs: number;
}

export interface RouteProbeResult {
  /** Set if the trace has no result: the name has no address, or the run was stopped. */
  readonly error: ProbeError | undefined;
  /** Destination of the probes; null if none could be sent. */
  readonly address: string | null;
  readonly family: IpFamily;
  /** Duration of the name lookup, in milliseconds. */
  readonly lookupMs: number;
  readonly route: Route | undefined;
}

/** Resolves a host and traces the route to its first address. */
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
