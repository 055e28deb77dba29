import { type IpFamily, type ResolvedAddress, type WantedFamily, wireAddress } from '../address.ts';
import { type Interruption, type InterruptionSources, Interruptions } from '../connection/interruption.ts';
import type { ConnectionPolicy } from '../egress/policy.ts';
import { type LookupTimes, ResolveError, type Resolver, resolveWanted } from '../resolver.ts';
import type { IcmpBackend } from './backend.ts';
import type { EchoAnswer } from './echo/answers.ts';
import { IcmpProbeError, unsentError } from './errors.ts';
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
export function probeIcmp(request: IcmpProbeRequest, controls: IcmpProbeControls): Promise<IcmpProbeResult> {
  return new IcmpProbe(request, controls).run();
}

class IcmpProbe {
  readonly #request: IcmpProbeRequest;
  readonly #controls: IcmpProbeControls;
  readonly #stop = new AbortController();
  readonly #interrupted = Promise.withResolvers<never>();
  #interruption: Interruption | undefined;
  #address: string | null = null;
  #family: IpFamily;
  #lookupMs = 0;
  /** The same, including the processing time of this process, which also uses up the time limit. */
  #lookupTakenMs = 0;
  #answers: readonly EchoAnswer[] = [];

  constructor(request: IcmpProbeRequest, controls: IcmpProbeControls) {
    this.#request = request;
    this.#controls = controls;
    this.#family = request.family === 6 ? 6 : 4;
    // Only the lookup awaits this promise; the train uses the signal.
    this.#interrupted.promise.catch(() => undefined);
  }

  async run(): Promise<IcmpProbeResult> {
    const interruptions = new Interruptions(this.#controls, (interruption) => {
      this.#interruption = interruption;
      this.#interrupted.reject(this.#stopError(`looking up ${this.#request.hostname}`));
      this.#stop.abort();
    });
    let error: IcmpProbeError | undefined;
    try {
      await this.#ping();
    } catch (thrown) {
      if (!(thrown instanceof IcmpProbeError)) throw thrown;
      error = thrown;
    } finally {
      interruptions.release();
    }
    return {
      error,
      address: this.#address,
      family: this.#family,
      lookupMs: this.#lookupMs,
      answers: this.#answers,
    };
  }

  async #ping(): Promise<void> {
    const { hostname, count, intervalMs, dataBytes, ttl, dontFragment } = this.#request;
    const { backend, egress, timeoutMs } = this.#controls;
    const budget = timeBudget({ timeoutMs, count, intervalMs });
    const { address, family } = await this.#lookUp(budget.lookupTimeoutMs);
    const refusal = egress.refusal({ hostname, address });
    if (refusal) throw new IcmpProbeError('egress-denied', refusal.message, { egressRule: refusal.rule });
    this.#address = address;
    this.#family = family;
    const replyTimeoutMs = budget.replyTimeoutMs(timeoutMs - this.#lookupTakenMs);
    const train = { address, family, count, intervalMs, replyTimeoutMs, dataBytes, ttl, dontFragment };
    this.#answers = await backend.ping(train, this.#stop.signal);
    if (this.#interruption) {
      throw this.#stopError(`pinging ${address}, with ${this.#answers.length} of ${count} requests done`);
    }
    const [first] = this.#answers;
    if (first?.kind === 'unsent' && this.#answers.every(({ kind }) => kind === 'unsent')) {
      throw unsentError(first.errno, address, backend);
    }
  }

  async #lookUp(limitMs: number): Promise<ResolvedAddress> {
    const { hostname, family } = this.#request;
    const startMs = performance.now();
    const stop = new AbortController();
    let measured: LookupTimes | undefined;
    let isOver = false;
    const timer = setTimeout(() => {
      const message = `timed out after ${Math.round(limitMs)} ms while looking up ${hostname}`;
      this.#interrupted.reject(new IcmpProbeError('resolver-unavailable', message));
    }, limitMs);
    try {
      const lookup = resolveWanted(this.#controls.resolver, hostname, family, {
        signal: stop.signal,
        onMeasured: (times) => {
          measured = times;
        },
      });
      // It may reject after the race is decided.
      lookup.catch(() => undefined);
      const [first] = await Promise.race([this.#interrupted.promise, lookup]);
      isOver = true;
      if (!first) throw new Error('the resolver returned neither an address nor an error');
      return wireAddress(first);
    } catch (thrown) {
      if (!(thrown instanceof ResolveError)) throw thrown;
      const { egressRule } = thrown;
      if (thrown.kind === 'refused')
        throw new IcmpProbeError('egress-denied', thrown.message, { egressRule });
      const kind = thrown.kind === 'not-found' ? 'name-not-found' : 'resolver-unavailable';
      throw new IcmpProbeError(kind, thrown.message);
    } finally {
      clearTimeout(timer);
      // Abort only if needed: an abort creates an error with a stack, which costs more than a ping.
      if (!isOver) stop.abort();
      this.#lookupTakenMs = performance.now() - startMs;
      this.#lookupMs = measured?.elapsedMs ?? this.#lookupTakenMs;
    }
  }

  /** The error of a run that was stopped or timed out during an activity. */
  #stopError(doing: string): IcmpProbeError {
    if (this.#interruption === 'abort') {
      return new IcmpProbeError('aborted', `the run was stopped while ${doing}`);
    }
    const kind = this.#address === null ? 'resolver-unavailable' : 'response-timeout';
    return new IcmpProbeError(
      kind,
      `timed out after ${Math.round(this.#controls.timeoutMs)} ms while ${doing}`,
    );
  }
}
