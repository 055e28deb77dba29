import { whyUnmeasured } from '@picket/service/sessions/able-agents.ts';
import type { TestSessionState } from '@picket/service/sessions/stored/test-session-store.ts';
import type { LiveEventName } from './topic.ts';

/** One thing that a run has to tell. */
export interface LiveEvent {
  /** What tells it from all other news of its suite. */
  readonly id: string;
  readonly run: { readonly sequenceId: string; readonly runId: string };
  readonly event: LiveEventName;
  /** JSON. */
  readonly payload: unknown;
  /** A result that has pictures which its follower fetches: it waits for those. */
  readonly picturesOf?: string;
}

/**
 * Everything that a test session has to say so far, in the order in which it happened. A follower that got some
 * of it gets the rest; so nobody misses anything who comes late, or comes back.
 */
export function liveEventsOf({ session, runs, results, names }: TestSessionState): LiveEvent[] {
  const byRun = Map.groupBy(results, (result) => result.run_id);
  return runs.flatMap((row): LiveEvent[] => {
    const run = { sequenceId: row.sequence_id, runId: row.id };
    const own = byRun.get(row.id) ?? [];
    const { name, sourceFile, updatesSnapshots } = names.get(row.check_id) ?? unnamed(row.check_id);
    const about = {
      name,
      checkType: row.check_type,
      // Where there is none the key is absent: clients look their check up by it.
      ...(sourceFile === null ? {} : { sourceFile }),
    };
    const news: LiveEvent[] = [];
    const tell = (id: string, event: LiveEventName, payload: unknown, rest: Partial<LiveEvent> = {}) =>
      news.push({ id, run, event, payload, ...rest });
    if (own.length > 0 || row.state === 'leased' || row.first_leased_at !== null) {
      tell(`${row.id} run-start`, 'run-start', { sequenceId: row.sequence_id, checkRunId: row.check_run_id });
    }
    for (const result of own) {
      if (session.streams_logs === 1) tell(`${result.id} logs`, 'stream-logs', { resultId: result.id });
      const isFinal = result.result_type === 'FINAL';
      // A run that failed through no fault of its target has measured nothing: it has not passed either.
      if (isFinal && result.has_errors === 1 && result.has_failures === 0) {
        tell(`${row.id} end`, 'error', result.message ?? 'The run could not be created.');
        continue;
      }
      const shown = {
        ...about,
        startedAt: iso(result.started),
        stoppedAt: iso(result.stopped),
        responseTime: Math.round(result.response_time),
        runLocation: result.run_location,
        hasFailures: result.has_failures === 1 || result.has_errors === 1,
        hasErrors: result.has_errors === 1,
        isDegraded: result.is_degraded === 1,
        isCancelled: false,
        attempts: result.attempts,
        assets: { region: result.run_location, logPath: result.id, checkRunDataPath: result.id },
      };
      tell(
        isFinal ? `${row.id} end` : result.id,
        'result',
        {
          testResultId: result.id,
          resultType: result.result_type,
          result: shown,
        },
        updatesSnapshots ? { picturesOf: result.id } : {},
      );
    }
    if (row.state === 'cancelled') {
      const at = iso(row.ended ?? row.created);
      const result = { ...about, startedAt: at, stoppedAt: at, hasFailures: false, isCancelled: true };
      tell(`${row.id} end`, 'result', { testResultId: null, resultType: 'FINAL', result });
    }
    const why = whyUnmeasured(row);
    if (why !== null) tell(`${row.id} end`, 'error', why);
    return news;
  });
}

function iso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

function unnamed(name: string) {
  return { name, sourceFile: null, updatesSnapshots: false };
}
