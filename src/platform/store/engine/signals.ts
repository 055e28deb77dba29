import { EventEmitter } from 'node:events';
import { z } from 'zod';

const id = z.string().min(1).max(200);

/**
 * News that wakes waiting parts of the service: in this process at once, in others through the database or NATS. A
 * signal may be lost with a connection; every waiter also looks by itself now and then.
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
  /** There is a deployment to work on, or one to cancel. */
  z.object({ kind: z.literal('deployments') }),
  /** A test session began, or a run of it began or ended. */
  z.object({ kind: z.literal('tested'), testSessionId: id }),
  /** Checks were created or changed: the next slot may be nearer. */
  z.object({ kind: z.literal('schedule') }),
  /**
   * Polls that wait at a location end without work: all of them when its keys were revoked, those of one
   * session when a lease of it ran out. A frozen or cut-off agent keeps its poll open, and what it were given
   * would be lost with it.
   */
  z.object({ kind: z.literal('dismiss'), locationId: id, sessionId: id.optional() }),
  /** Signals may have been missed: everybody looks again. */
  z.object({ kind: z.literal('look') }),
]);
export type Signal = Readonly<z.output<typeof Signal>>;

export interface Signals {
  send(signals: readonly Signal[]): void;
  /** Returns the function that ends the subscription. */
  subscribe(listener: (signal: Signal) => void): () => void;
}

/** Takes messages to the other processes of this database in another way than the database's own. */
export interface Relay {
  /** Whether it took them: if not, they have to go another way. */
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
 * A message of a service process, or undefined: others may write where they are read. Signals that this build does not
 * know are left out: a later one may have sent them.
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

/** The same news in fewer signals: those that say the same are one, and counts of queued runs add up. */
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

/** The signals that wake polls for new runs, one for each location, lane and type. */
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

/** The signals that tell those who watch test sessions that something happened in some of them. */
export function testedSignals(runs: readonly { readonly test_session_id: string | null }[]): Signal[] {
  const ids = new Set(runs.flatMap(({ test_session_id: id }) => id ?? []));
  return [...ids].map((testSessionId) => ({ kind: 'tested', testSessionId }));
}

/** The signals that tell sessions which of their leased runs were cancelled. */
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
