import { beginningOf } from '@picket/lib/text.ts';

/** One line of the log that travels with a result (`jobLog`). */
export interface LogEntry {
  /** Epoch milliseconds. */
  readonly time: number;
  readonly msg: string;
  readonly level: 'DEBUG' | 'INFO' | 'WARN' | 'ERROR';
}

export interface RunLog {
  /** @param ageMs how long ago it was, for what is written down later. */
  write(level: LogEntry['level'], msg: string, ageMs?: number): void;
  readonly entries: readonly LogEntry[];
  /** Takes back everything that was written: it may hold a secret that is not known to be one. */
  withdraw(): void;
  /**
   * The log of what comes before or after: with the same clock, and bounds of its own. The same at every
   * call.
   */
  part(stage: 'setup' | 'teardown'): RunLog;
}

const maxEntries = 500;
const maxMessageLength = 4096;

/**
 * The log of one run, kept in memory and bounded: 500 entries of 4096 characters, and as many for each part.
 * What comes after that is counted, and the last entry says how much is missing.
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

/** The log of a run by its stages, as details show it; null when nothing was written. */
export function jobLogOf(log: RunLog) {
  const [setup, teardown] = [log.part('setup'), log.part('teardown')];
  if (setup.entries.length + log.entries.length + teardown.entries.length === 0) return null;
  return { setup: [...setup.entries], request: [...log.entries], teardown: [...teardown.entries] };
}

/** Everything that was written, in the order of the stages. */
export function allEntries(log: RunLog): readonly LogEntry[] {
  return [...log.part('setup').entries, ...log.entries, ...log.part('teardown').entries];
}
