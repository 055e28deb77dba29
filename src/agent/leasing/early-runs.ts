import type { Clock } from '@picket/lib/clock.ts';
import { StartTimes } from '../run/start-times.ts';

/** Runs of such a window are sent ahead together: each message wakes both threads. */
const windowMs = 250;
/** Every run is sent this long before its slot at least, so that it is there in time. */
const leadMs = 50;

/** When a run is sent whose slot is at `dueAtMs`. */
const whenToSend = (dueAtMs: number) => Math.floor((dueAtMs - leadMs) / windowMs) * windowMs;

interface EarlyRun {
  /** When its slot is, on the monotonic clock. */
  readonly dueAtMs: number;
  /** Whether its executor starts it at its slot, so that it may be sent ahead. */
  readonly maySendAhead: boolean;
}

/**
 * Runs that wait on the main thread for their slots: for the slot itself, or until they are sent ahead, up to 300 ms
 * before. A run sent ahead has a place in its lane, so none is sent while its lane has few places left.
 */
export class EarlyRuns<Run extends EarlyRun> {
  readonly #toStart: StartTimes<Run>;
  readonly #toSend: StartTimes<Run>;

  constructor(options: {
    readonly clock: Clock;
    /** Called with a run whose time has come. */
    readonly start: (run: Run) => void;
    /** Whether the lane of a run has enough free places. */
    readonly hasRoom: (run: Run) => boolean;
  }) {
    const { clock, start, hasRoom } = options;
    this.#toStart = new StartTimes({ clock, start });
    this.#toSend = new StartTimes({
      clock,
      whenToStart: whenToSend,
      start: (run) => (hasRoom(run) ? start(run) : this.#toStart.add(run, run.dueAtMs)),
    });
  }

  get count(): number {
    return this.#toStart.count + this.#toSend.count;
  }

  add(run: Run): void {
    (run.maySendAhead ? this.#toSend : this.#toStart).add(run, run.dueAtMs);
  }

  delete(run: Run): void {
    this.#toStart.delete(run);
    this.#toSend.delete(run);
  }
}
