import { whyUnmeasured } from '@picket/service/sessions/able-agents.ts';
import type { TestSessionState } from '@picket/service/sessions/stored/test-session-store.ts';
import type { LiveEventName } from './topic.ts';

/** One event of a run. */
export interface LiveEvent {
  /** Unique among the events of its suite. */
  readonly id: string;
  readonly run: { readonly sequenceId: string; readonly runId: string };
  readonly event: LiveEventName;
  /** JSON. */
  readonly payload: unknown;
  /** A result with images that the follower fetches: the event waits until they are stored. */
  readonly picturesOf?: string;
}

/**
 * All events of a test session so far, in order. A follower that received some of them gets the rest; so one that
 * connects late, or reconnects, misses none.
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
      // If null, the key is absent: clients look up their check by it.
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
      // A run that failed for a reason outside its target measured nothing, and has not passed either.
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
