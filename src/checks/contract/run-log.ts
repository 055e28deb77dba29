import { beginningOf } from '@picket/lib/text.ts';

/** One line of the log that is sent with a result (`jobLog`). */
export interface LogEntry {
  /** Epoch milliseconds. */
  readonly time: number;
  readonly msg: string;
  readonly level: 'DEBUG' | 'INFO' | 'WARN' | 'ERROR';
}

export interface RunLog {
  /** @param ageMs how long ago it happened, for entries that are written later. */
  write(level: LogEntry['level'], msg: string, ageMs?: number): void;
  readonly entries: readonly LogEntry[];
  /** Whether neither it nor one of its parts has an entry. */
  readonly isEmpty: boolean;
  /** Discards everything written so far: it may contain a secret that was not known as one. */
  withdraw(): void;
  /**
   * The log of the scripts before or after the operation: with the same clock and its own limits. Every call returns
   * the same log.
   */
  part(stage: 'setup' | 'teardown'): RunLog;
}

const maxEntries = 500;
const maxMessageLength = 4096;

/**
 * Creates the log of one run, kept in memory and bounded: 500 entries of 4096 characters, and as many for each part.
 * Entries beyond that are counted, and the last entry gives the number.
 *
 * @param wallMs the time written to entries, in epoch milliseconds.
 */
export function createRunLog(wallMs: () => number = Date.now): RunLog {
  return new BoundedLog(wallMs);
}

/** Most runs write nothing, so a log costs little until its first entry. */
class BoundedLog implements RunLog {
  readonly entries: LogEntry[] = [];
  readonly #wallMs: () => number;
  #setup: BoundedLog | undefined;
  #teardown: BoundedLog | undefined;
  #droppedCount = 0;

  constructor(wallMs: () => number) {
    this.#wallMs = wallMs;
  }

  get isEmpty(): boolean {
    return this.entries.length === 0 && (this.#setup?.isEmpty ?? true) && (this.#teardown?.isEmpty ?? true);
  }

  write(level: LogEntry['level'], msg: string, ageMs = 0): void {
    const time = Math.max(0, Math.round(this.#wallMs() - ageMs));
    if (this.entries.length < maxEntries - 1) {
      this.entries.push({ time, msg: beginningOf(msg, maxMessageLength), level });
      return;
    }
    this.#droppedCount += 1;
    this.entries[maxEntries - 1] = {
      time,
      msg: `${this.#droppedCount} more entries were dropped`,
      level: 'WARN',
    };
  }

  withdraw(): void {
    this.entries.length = 0;
    this.#droppedCount = 0;
  }

  part(stage: 'setup' | 'teardown'): RunLog {
    if (stage === 'setup') {
      this.#setup ??= new BoundedLog(this.#wallMs);
      return this.#setup;
    }
    this.#teardown ??= new BoundedLog(this.#wallMs);
    return this.#teardown;
  }
}

/** Returns the log of a run by stage, as details show it; null if it is empty. */
export function jobLogOf(log: RunLog) {
  if (log.isEmpty) return null;
  const [setup, teardown] = [log.part('setup'), log.part('teardown')];
  return { setup: [...setup.entries], request: [...log.entries], teardown: [...teardown.entries] };
}

/** Returns all entries, in the order of the stages. */
export function allEntries(log: RunLog): readonly LogEntry[] {
  if (log.isEmpty) return [];
  return [...log.part('setup').entries, ...log.entries, ...log.part('teardown').entries];
}
