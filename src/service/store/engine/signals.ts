import { EventEmitter } from 'node:events';

/**
 * News that wakes waiting parts of the service: in this process at once, in others through the database. A signal may
 * be lost with a connection; whoever waits also looks by itself now and then.
 */
export type Signal =
  /** Runs may be claimed. */
  | {
      readonly kind: 'queued';
      readonly locationId: string;
      readonly lane: string;
      readonly checkType: string;
      readonly count: number;
    }
  /** A run that a session had leased was cancelled. */
  | {
      readonly kind: 'cancelled';
      readonly locationId: string;
      readonly sessionId: string;
      readonly runId: string;
    }
  /** There are alerts to tell, or incidents to open or resolve. */
  | { readonly kind: 'alerts' }
  /** Checks were created or changed: the next slot may be nearer. */
  | { readonly kind: 'schedule' }
  /**
   * Polls that wait at a location end without work: all of them when its keys were revoked, those of one session when a
   * lease of it ran out. A frozen or cut-off agent keeps its poll open, and what it were given would be lost with it.
   */
  | { readonly kind: 'dismiss'; readonly locationId: string; readonly sessionId?: string }
  /** Signals may have been missed: everybody looks again. */
  | { readonly kind: 'look' };

export interface Signals {
  send(signals: readonly Signal[]): void;
  /** Returns the function that ends the subscription. */
  subscribe(listener: (signal: Signal) => void): () => void;
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
