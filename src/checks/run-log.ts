import { beginningOf } from '../lib/cut-text.ts';
import type { LogEntry, RunLog } from './check-type.ts';

const maxEntries = 500;
const maxMessageLength = 4096;

/**
 * The log of one run, kept in memory and bounded: 500 entries of 4096 characters. What comes after that is counted,
 * and the last entry says how much is missing.
 *
 * @param wallMs the time written to entries, in epoch milliseconds.
 */
export function createRunLog(wallMs: () => number = Date.now): RunLog {
  const entries: LogEntry[] = [];
  let dropped = 0;
  return {
    write(level, msg) {
      if (entries.length < maxEntries - 1) {
        entries.push({ time: wallMs(), msg: beginningOf(msg, maxMessageLength), level });
        return;
      }
      dropped += 1;
      const last: LogEntry = { time: wallMs(), msg: `${dropped} more entries were dropped`, level: 'WARN' };
      entries[maxEntries - 1] = last;
    },
    entries,
  };
}

/** The log of a run without scripts as its detail shows it; null when nothing was written. */
export function jobLogOf({ entries }: RunLog) {
  return entries.length === 0 ? null : { setup: [], request: [...entries], teardown: [] };
}
