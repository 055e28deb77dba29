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
  const entries: LogEntry[] = [];
  const parts = new Map<string, RunLog>();
  let dropped = 0;
  return {
    write(level, msg, ageMs = 0) {
      const time = Math.max(0, Math.round(wallMs() - ageMs));
      if (entries.length < maxEntries - 1) {
        entries.push({ time, msg: beginningOf(msg, maxMessageLength), level });
        return;
      }
      dropped += 1;
      entries[maxEntries - 1] = { time, msg: `${dropped} more entries were dropped`, level: 'WARN' };
    },
    entries,
    withdraw() {
      entries.length = 0;
      dropped = 0;
    },
    part(stage) {
      const part = parts.get(stage) ?? createRunLog(wallMs);
      parts.set(stage, part);
      return part;
    },
  };
}

/** Returns the log of a run by stage, as details show it; null if it is empty. */
export function jobLogOf(log: RunLog) {
  const [setup, teardown] = [log.part('setup'), log.part('teardown')];
  if (setup.entries.length + log.entries.length + teardown.entries.length === 0) return null;
  return { setup: [...setup.entries], request: [...log.entries], teardown: [...teardown.entries] };
}

/** Returns all entries, in the order of the stages. */
export function allEntries(log: RunLog): readonly LogEntry[] {
  return [...log.part('setup').entries, ...log.entries, ...log.part('teardown').entries];
}
