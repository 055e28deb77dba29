import { EventEmitter } from 'node:events';
import { z } from 'zod';

const id = z.string().min(1).max(200);

/**
 * Signals that wake waiting parts of the service: in this process at once, in others through the database or NATS. A
 * signal may be lost with a connection; every waiter also polls now and then.
 */
export const Signal = z.discriminatedUnion('kind', [
  /** Runs may be claimed. */
  z.object({
    kind: z.literal('queued'),
    locationId: id,
    lane: id,
    checkType: id,
    count: z.int().min(1),
  }),
  /** A run that a session had leased was cancelled. */
  z.object({ kind: z.literal('cancelled'), locationId: id, sessionId: id, runId: id }),
  /** There are notifications to send, or incidents to open or resolve. */
  z.object({ kind: z.literal('alerts') }),
  /** A deployment is to be processed or cancelled. */
  z.object({ kind: z.literal('deployments') }),
  /** A test session began, or one of its runs began or ended. */
  z.object({ kind: z.literal('tested'), testSessionId: id }),
  /** Someone reads the log of a run while it goes; with the session that has it, if that does not know yet. */
  z.object({
    kind: z.literal('followed'),
    accountId: id,
    runId: id,
    holder: z.object({ locationId: id, sessionId: id }).optional(),
  }),
  /** Checks were created or changed: the next slot may be earlier. */
  z.object({ kind: z.literal('schedule') }),
  /**
   * Ends waiting polls of a location without work: all of them when its keys were revoked, those of one session when
   * one of its leases expired. A frozen or disconnected agent keeps its poll open, and runs given to it would be lost.
   */
  z.object({ kind: z.literal('dismiss'), locationId: id, sessionId: id.optional() }),
  /** Signals may have been missed: every listener looks again. */
  z.object({ kind: z.literal('look') }),
]);
export type Signal = Readonly<z.output<typeof Signal>>;

export interface Signals {
  send(signals: readonly Signal[]): void;
  /** @returns a function that ends the subscription. */
  subscribe(listener: (signal: Signal) => void): () => void;
}

/** Carries messages to the other processes of this database, in place of the database. */
export interface Relay {
  /** Whether it accepted them: if not, the database carries them. */
  carry(messages: readonly string[]): Promise<boolean>;
}

/** Signals within one process. */
export class LocalSignals implements Signals {
  readonly #emitter = new EventEmitter().setMaxListeners(0);

  send(signals: readonly Signal[]): void {
    for (const signal of signals) this.#emitter.emit('signal', signal);
  }

  subscribe(listener: (signal: Signal) => void): () => void {
    this.#emitter.on('signal', listener);
    return () => this.#emitter.off('signal', listener);
  }
}

const Message = z.object({ origin: id, signals: z.array(z.unknown()).max(1_000) });

/**
 * Parses a message of a service process, or returns undefined, since other programs may write to the same channel.
 * Skips signals that this build does not know: a later build may have sent them.
 */
export function readMessage(
  text: string,
): { readonly origin: string; readonly signals: readonly Signal[] } | undefined {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { data: message } = Message.safeParse(json);
  if (!message) return undefined;
  const signals = message.signals.flatMap((signal) => Signal.safeParse(signal).data ?? []);
  return { origin: message.origin, signals };
}

/** Merges signals: duplicates become one, and counts of queued runs add up. */
export function merged(signals: readonly Signal[]): Signal[] {
  const distinct = new Map<string, Signal>();
  for (const signal of signals) {
    const key = JSON.stringify(signal.kind === 'queued' ? { ...signal, count: 0 } : signal);
    const known = distinct.get(key);
    if (known?.kind === 'queued' && signal.kind === 'queued') {
      const count = Math.min(known.count + signal.count, Number.MAX_SAFE_INTEGER);
      distinct.set(key, { ...known, count });
    } else distinct.set(key, signal);
  }
  return [...distinct.values()];
}

/** Returns the signals that wake polls for new runs, one for each location, lane and type. */
export function queuedSignals(
  runs: readonly {
    readonly state: string;
    readonly location_id: string | null;
    readonly lane: string;
    readonly check_type: string;
  }[],
): Signal[] {
  const counted = new Map<string, { signal: Signal & { kind: 'queued' }; count: number }>();
  for (const run of runs) {
    if (run.state !== 'queued' || run.location_id === null) continue;
    const key = `${run.location_id} ${run.lane} ${run.check_type}`;
    const entry = counted.get(key);
    if (entry) entry.count += 1;
    else {
      const { location_id: locationId, lane, check_type: checkType } = run;
      counted.set(key, { signal: { kind: 'queued', locationId, lane, checkType, count: 1 }, count: 1 });
    }
  }
  return [...counted.values()].map(({ signal, count }) => ({ ...signal, count }));
}

/** Returns the signals that notify watchers of test sessions of an event. */
export function testedSignals(runs: readonly { readonly test_session_id: string | null }[]): Signal[] {
  const ids = new Set(runs.flatMap(({ test_session_id: id }) => id ?? []));
  return [...ids].map((testSessionId) => ({ kind: 'tested', testSessionId }));
}

/** Returns the signals that notify sessions of their cancelled leased runs. */
export function cancelledSignals(
  runs: readonly {
    readonly id: string;
    readonly location_id: string | null;
    readonly session_id: string | null;
  }[],
): Signal[] {
  return runs.flatMap(({ id: runId, location_id: locationId, session_id: sessionId }) =>
    locationId === null || sessionId === null ? [] : [{ kind: 'cancelled', locationId, sessionId, runId }],
  );
}
