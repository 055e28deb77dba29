import {
  type IpFamily,
  literalAddress,
  type ResolvedAddress,
  type WantedFamily,
  wireAddress,
} from '../address.ts';
import {
  type Interruption,
  type InterruptionSources,
  Interruptions,
  isTimeout,
} from '../connection/interruption.ts';
import type { ConnectionPolicy } from '../egress/policy.ts';
import { type LookupTimes, ResolveError, type Resolver, resolveWanted } from '../resolver.ts';
import type { IcmpBackend } from './backend.ts';
import type { EchoAnswer } from './echo/answers.ts';
import { type IcmpErrorKind, IcmpProbeError, unsentError } from './errors.ts';
import { timeBudget } from './time-budget.ts';

/** A host to ping. */
export interface IcmpProbeRequest {
  /** A name, or an address without brackets. */
  readonly hostname: string;
  readonly family: WantedFamily;
  readonly count: number;
  readonly intervalMs: number;
  readonly dataBytes: number;
  /** Time to live or hop limit to send; the system's default when absent. */
  readonly ttl?: number | undefined;
  /** True forbids fragmentation of the requests; the system's default when absent. */
  readonly dontFragment?: boolean | undefined;
}

export interface IcmpProbeControls extends InterruptionSources {
  readonly backend: IcmpBackend;
  readonly resolver: Resolver;
  readonly egress: ConnectionPolicy;
}

export interface IcmpProbeResult {
  /** Set if the answers, if any, are not conclusive about the target. */
  readonly error: IcmpProbeError | undefined;
  /** Destination of the requests; null if none could be sent. */
  readonly address: string | null;
  /** The address's family; an address literal determines it. */
  readonly family: IpFamily;
  /** Duration of the name lookup, in milliseconds. */
  readonly lookupMs: number;
  readonly answers: readonly EchoAnswer[];
}

/**
 * Pings a host: resolves its name, sends echo requests to its first address at a steady pace and collects the answers.
 *
 * @throws if the backend itself failed; everything else is part of the result.
 */
export async function probeIcmp(
  request: IcmpProbeRequest,
  controls: IcmpProbeControls,
): Promise<IcmpProbeResult> {
  const found: Found = { address: null, family: request.family === 6 ? 6 : 4, lookupMs: 0, answers: [] };
  try {
    await ping(request, controls, found);
    return { error: undefined, ...found };
  } catch (thrown) {
    if (!(thrown instanceof IcmpProbeError)) throw thrown;
    return { error: thrown, ...found };
  }
}

/** The result so far. */
type Found = { -readonly [Key in keyof Omit<IcmpProbeResult, 'error'>]: IcmpProbeResult[Key] };

/** @throws IcmpProbeError if the answers, if any, are not conclusive. */
async function ping(request: IcmpProbeRequest, controls: IcmpProbeControls, found: Found): Promise<void> {
  const { hostname, count, intervalMs, dataBytes, ttl, dontFragment } = request;
  const { backend, egress, signal, timeoutMs } = controls;
  const startMs = performance.now();
  const budget = timeBudget({ timeoutMs, count, intervalMs });
  const { address, family } = await lookUp(request, controls, budget.lookupTimeoutMs, found);
  const refusal = egress.refusal({ hostname, address });
  if (refusal) throw new IcmpProbeError('egress-denied', refusal.message, { egressRule: refusal.rule });
  found.address = address;
  found.family = family;
  // The processing time of this process uses up the time limit, too.
  const leftMs = timeoutMs - (performance.now() - startMs);
  const replyTimeoutMs = budget.replyTimeoutMs(leftMs);
  const packets = { count, intervalMs, dataBytes, ttl, dontFragment };
  const train = { ...packets, address, family, replyTimeoutMs, timeoutMs: leftMs };
  const answers = await backend.ping(train, signal);
  found.answers = answers;
  const isStopped = signal.aborted && !isTimeout(signal.reason);
  if (isStopped || answers.length < count) {
    const doing = `pinging ${address}, with ${answers.length} of ${count} requests done`;
    throw interruptedError(isStopped ? 'abort' : 'deadline', 'response-timeout', doing, timeoutMs);
  }
  const [first] = answers;
  if (first?.kind === 'unsent' && answers.every(({ kind }) => kind === 'unsent')) {
    throw unsentError(first.errno, address, backend);
  }
}

async function lookUp(
  request: IcmpProbeRequest,
  controls: IcmpProbeControls,
  limitMs: number,
  found: Found,
): Promise<ResolvedAddress> {
  const startMs = performance.now();
  let measured: LookupTimes | undefined;
  const onMeasured = (times: LookupTimes) => {
    measured = times;
  };
  try {
    const { hostname, family } = request;
    const [first] = literalAddress(hostname)
      ? await resolveWanted(controls.resolver, hostname, family, { onMeasured })
      : await lookUpName(request, controls, limitMs, onMeasured);
    if (!first) throw new Error('the resolver returned neither an address nor an error');
    return wireAddress(first);
  } catch (thrown) {
    if (!(thrown instanceof ResolveError)) throw thrown;
    const { egressRule } = thrown;
    if (thrown.kind === 'refused') throw new IcmpProbeError('egress-denied', thrown.message, { egressRule });
    const kind = thrown.kind === 'not-found' ? 'name-not-found' : 'resolver-unavailable';
    throw new IcmpProbeError(kind, thrown.message);
  } finally {
    found.lookupMs = measured?.elapsedMs ?? performance.now() - startMs;
  }
}

async function lookUpName(
  { hostname, family }: IcmpProbeRequest,
  { resolver, signal }: IcmpProbeControls,
  limitMs: number,
  onMeasured: (times: LookupTimes) => void,
): Promise<readonly ResolvedAddress[]> {
  const stop = new AbortController();
  const { promise: interrupted, reject } = Promise.withResolvers<never>();
  const interruptions = new Interruptions({ signal, timeoutMs: limitMs }, (interruption) => {
    reject(interruptedError(interruption, 'resolver-unavailable', `looking up ${hostname}`, limitMs));
    stop.abort();
  });
  const lookup = resolveWanted(resolver, hostname, family, { signal: stop.signal, onMeasured });
  // It may reject after the race is decided.
  lookup.catch(() => undefined);
  try {
    return await Promise.race([interrupted, lookup]);
  } finally {
    interruptions.release();
  }
}

/** The error of a run that was stopped, or whose time was over, during an activity. */
function interruptedError(
  interruption: Interruption,
  kindOfTimeout: IcmpErrorKind,
  doing: string,
  limitMs: number,
): IcmpProbeError {
  return interruption === 'abort'
    ? new IcmpProbeError('aborted', `the run was stopped while ${doing}`)
    : new IcmpProbeError(kindOfTimeout, `timed out after ${Math.round(limitMs)} ms while ${doing}`);
}
