import type { LogEntry, RunLog } from '@picket/checks/contract/run-log.ts';
import { maxLiveLines, maxLiveLinesPerCall } from '@picket/protocol/agent/live-log.ts';
import type { Scrubbed, Scrubber } from '../scrub/scrubber.ts';
import { seenCredentials } from '../scrub/seen-credentials.ts';

/** Text of earlier lines that is searched together with new ones: a credential may be the line after its name. */
const contextLength = 16 * 1024;
/** Text of one request, in characters; the rest waits for the next. */
const maxTextLength = 64 * 1024;

/** The next lines of a run. */
export interface TailLines {
  readonly firstLine: number;
  readonly lines: readonly Scrubbed<LogEntry>[];
}

/**
 * The log of one run, read while it grows. Lines leave in order, once, and as they do in the result: scrubbed with the
 * secrets known by then, among them those that the script has assigned. Lines at the end that may be the beginning of a
 * secret of several lines wait for the next ones.
 */
export class RunTail {
  readonly #log: RunLog;
  readonly #scrubberFor: (found: readonly string[]) => Scrubber;
  readonly #found = new Set<string>();
  #secretsSoFar: (() => Promise<readonly string[] | undefined>) | undefined;
  #lastScrubber: Scrubber | undefined;
  #sentCount = 0;

  /** @param scrubberFor returns a scrubber for the secrets of the run and further ones. */
  constructor(log: RunLog, scrubberFor: (found: readonly string[]) => Scrubber) {
    this.#log = log;
    this.#scrubberFor = scrubberFor;
  }

  /** Permits reading; until then there are no lines. */
  allow(secretsSoFar: () => Promise<readonly string[] | undefined>): void {
    this.#secretsSoFar = secretsSoFar;
  }

  /** The lines that may leave now; undefined if none may. */
  async next(): Promise<TailLines | undefined> {
    const firstLine = this.#sentCount;
    // The last line of a full log changes, and the runner may have withdrawn all of them.
    const entries = this.#log.entries.slice(0, maxLiveLines - 1);
    if (entries.length <= firstLine) return undefined;
    // Read after the lines: their program noted its secrets before it printed them.
    const secrets = await this.#secretsSoFar?.();
    if (!secrets) return undefined;
    const [start, end] = [contextStart(entries, firstLine), endOf(entries, firstLine)];
    const window = entries.slice(start, end);
    const scrubber = this.#scrubber([...secrets, ...seenCredentials(window.map(({ msg }) => msg))]);
    const until = start + (end === entries.length ? scrubber.unfinishedFrom(window) : window.length);
    if (until <= firstLine) return undefined;
    this.#sentCount = until;
    return { firstLine, lines: scrubber.liveLog(window).slice(firstLine - start, until - start) };
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

function contextStart(entries: readonly LogEntry[], from: number): number {
  let length = 0;
  let start = from;
  while (start > 0 && length < contextLength) {
    start -= 1;
    length += entries[start]?.msg.length ?? 0;
  }
  return start;
}
