import { type IpFamily, type ResolvedAddress, type WantedFamily, wireAddress } from '../address.ts';
import { type Interruption, type InterruptionSources, Interruptions } from '../connection/interruption.ts';
import type { ConnectionPolicy } from '../egress/policy.ts';
import type { EchoAnswer } from '../kernel-thread/echo/answers.ts';
import { type LookupTimes, ResolveError, type Resolver, resolveWanted } from '../resolver.ts';
import type { IcmpBackend } from './backend.ts';
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
  /** Time to live, or hop limit, to send with; the system's when absent. */
  readonly ttl?: number | undefined;
  /** Whether the requests may not be fragmented on their way; as the system does it when absent. */
  readonly dontFragment?: boolean | undefined;
}

export interface IcmpProbeControls extends InterruptionSources {
  readonly backend: IcmpBackend;
  readonly resolver: Resolver;
  readonly egress: ConnectionPolicy;
}

export interface IcmpProbeResult {
  /** Set when the answers, if there are any, are not the whole truth about the target. */
  readonly error: IcmpProbeError | undefined;
  /** Where the requests went; null when none could. */
  readonly address: string | null;
  /** The address's family, which an address literal decides itself. */
  readonly family: IpFamily;
  /** How long the name lookup took, in milliseconds. */
  readonly lookupMs: number;
  readonly answers: readonly EchoAnswer[];
}

/**
 * Pings a host: looks its name up, sends echo requests to its first address at a steady pace and collects
 * what comes back.
 *
 * @throws when the backend itself broke; all else is part of the result.
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
  /** The same with what this process needed for it: that much of the time is gone. */
  #lookupTakenMs = 0;
  #answers: readonly EchoAnswer[] = [];

  constructor(request: IcmpProbeRequest, controls: IcmpProbeControls) {
    this.#request = request;
    this.#controls = controls;
    this.#family = request.family === 6 ? 6 : 4;
    // Only the lookup waits for it; the train has the signal.
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
      // It may reject after nobody waits for it any more.
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
      // An abort makes an error with a stack, which costs more than a ping.
      if (!isOver) stop.abort();
      this.#lookupTakenMs = performance.now() - startMs;
      this.#lookupMs = measured?.elapsedMs ?? this.#lookupTakenMs;
    }
  }

  /** The run was stopped, or its time was over, while that was going on. */
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
