import type { LogEntry, RunLog } from '@picket/checks/contract/run-log.ts';
import { maxLiveLines, maxLiveLinesPerCall } from '@picket/protocol/agent/live-log.ts';
import type { Scrubbed, Scrubber } from '../scrub/scrubber.ts';
import { seenCredentials } from '../scrub/seen-credentials.ts';
import { unfinishedFrom } from '../scrub/unfinished-secret.ts';

/** Text of earlier lines that is searched together with new ones: a credential may be the line after its name. */
const contextLength = 16 * 1024;
/** Text of one request, in characters; the rest waits for the next. */
const maxTextLength = 64 * 1024;

/** Text of a whole live log, in characters. */
const maxLogLength = 256 * 1024;

/** The next lines of a run. */
export interface TailLines {
  readonly lines: readonly Scrubbed<LogEntry>[];
  /** Whether no more lines follow, though there are some: the log is long. */
  readonly isFull: boolean;
}

/**
 * The log of one run, read while it grows. Its lines are scrubbed as in the result, with the secrets known by then, among
 * them those that the script has assigned. Lines at the end that may be the beginning of a secret of several lines wait
 * for the next ones.
 */
export class RunTail {
  readonly #log: RunLog;
  readonly #scrubberFor: (found: readonly string[]) => Scrubber;
  readonly #found = new Set<string>();
  #secretsSoFar: (() => Promise<readonly string[] | undefined>) | undefined;
  #lastScrubber: Scrubber | undefined;

  /** @param scrubberFor returns a scrubber for the secrets of the run and further ones. */
  constructor(log: RunLog, scrubberFor: (found: readonly string[]) => Scrubber) {
    this.#log = log;
    this.#scrubberFor = scrubberFor;
  }

  /** Permits reading; until then there are no lines. */
  allow(secretsSoFar: () => Promise<readonly string[] | undefined>): void {
    this.#secretsSoFar = secretsSoFar;
  }

  /** The lines from this one on that may leave now; undefined if none may. */
  async next(firstLine: number): Promise<TailLines | undefined> {
    const written = [...this.#log.entries];
    const entries = written.slice(0, lineLimit(written));
    // The runner may have withdrawn all of them.
    if (written.length <= firstLine) return undefined;
    if (entries.length <= firstLine) return { lines: [], isFull: true };
    // Read after the lines: their program noted its secrets before it printed them.
    const secrets = await this.#secretsSoFar?.();
    if (!secrets) return undefined;
    const [start, end] = [contextStart(entries, firstLine), endOf(entries, firstLine)];
    const window = entries.slice(start, end);
    const scrubber = this.#scrubber([...secrets, ...seenCredentials(window.map(({ msg }) => msg))]);
    const until = start + (end === written.length ? unfinishedFrom(window, scrubber.finder) : window.length);
    if (until <= firstLine) return undefined;
    const lines = scrubber.liveLog(window).slice(firstLine - start, until - start);
    return { lines, isFull: until === entries.length && entries.length < written.length };
  }

  /** A scrubber for everything that was found so far. */
  #scrubber(found: readonly string[]): Scrubber {
    const before = this.#found.size;
    for (const value of found) this.#found.add(value);
    if (!this.#lastScrubber || this.#found.size > before) {
      this.#lastScrubber = this.#scrubberFor([...this.#found]);
    }
    return this.#lastScrubber;
  }
}

/** Where the lines of one request end: they are bounded in number and in length. */
function endOf(entries: readonly LogEntry[], from: number): number {
  let length = 0;
  let end = from;
  while (end < entries.length && end - from < maxLiveLinesPerCall && length < maxTextLength) {
    length += entries[end]?.msg.length ?? 0;
    end += 1;
  }
  return end;
}

/** The number of lines that may leave. The last line of a full log counts the dropped ones, and changes. */
function lineLimit(entries: readonly LogEntry[]): number {
  let length = 0;
  const tooLong = entries.findIndex(({ msg }) => {
    length += msg.length;
    return length > maxLogLength;
  });
  return Math.min(tooLong < 0 ? entries.length : tooLong, maxLiveLines - 1);
}

function contextStart(entries: readonly LogEntry[], from: number): number {
  let length = 0;
  let start = from;
  while (start > 0 && length < contextLength) {
    start -= 1;
    length += entries[start]?.msg.length ?? 0;
  }
  return start;
}
