import { checkResultRoutes, summaryOfResult } from '@picket/protocol/results/check-result.ts';
import type { CheckSession } from '@picket/protocol/sessions/check-session.ts';
import { followedLogRoutes } from '@picket/protocol/sessions/live-log.ts';
import { ApiError } from '../api/api-error.ts';
import type { ApiClient } from '../api/client.ts';
import { printable } from '../api/text.ts';

interface Line {
  readonly time: number;
  readonly level: string;
  readonly msg: string;
}

/**
 * Prints the logs of a session's runs: those of scripts while they run, and with each result what was not printed
 * before.
 */
export class RunLogs {
  readonly #api: ApiClient;
  readonly #print: (line: string) => void;
  /** Number of printed lines by attempt of a run. */
  readonly #printed = new Map<string, number>();
  readonly #results = new Set<string>();
  #isLive = true;

  constructor(api: ApiClient, print: (line: string) => void) {
    this.#api = api;
    this.#print = print;
  }

  /** Prints the new lines of a session. */
  async next(session: CheckSession): Promise<void> {
    const isManyPlaced = session.runLocations.length > 1;
    for (const { checkResultId: id, checkId, runLocation } of session.results) {
      if (id === null || this.#results.has(id)) continue;
      const params = { checkId, checkResultId: id };
      const result = await this.#api.call(checkResultRoutes.getCheckResult, { params });
      const log = summaryOfResult(result)?.log ?? [];
      this.#lines(`${result.sequenceId} ${result.attempts}`, log, isManyPlaced ? runLocation : undefined);
      this.#results.add(id);
    }
    for (const run of await this.#live(session)) {
      const place = isManyPlaced ? run.runLocation : undefined;
      this.#lines(`${run.sequenceId} ${run.attempt}`, run.lines, place);
    }
  }

  async #live({ checkSessionId: id }: CheckSession) {
    if (!this.#isLive) return [];
    try {
      return (await this.#api.call(followedLogRoutes.getCheckSessionLiveLog, { params: { id } })).runs;
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown;
      // A service of an earlier version. The results have the logs.
      this.#isLive = false;
      return [];
    }
  }

  #lines(attempt: string, lines: readonly Line[], place: string | undefined): void {
    for (const { time, level, msg } of lines.slice(this.#printed.get(attempt) ?? 0)) {
      this.#print(
        `${clockOf(time)} ${place === undefined ? '' : `${place} `}${level.padEnd(5)} ${printable(msg)}`,
      );
    }
    this.#printed.set(attempt, Math.max(lines.length, this.#printed.get(attempt) ?? 0));
  }
}

/** Time of day, UTC. A script may have set the time of a line to any number. */
function clockOf(time: number): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? '--:--:--.---' : date.toISOString().slice(11, 23);
}
