import { findCheckType } from '@picket/checks/index.ts';
import { failureWords } from '@picket/checks/judging/failure-words.ts';
import { AppError } from '@picket/lib/errors.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '@picket/platform/feature/handler.ts';
import { requireLocation } from '@picket/platform/http/known-names.ts';
import { describePage, pageOf, pageOffset } from '@picket/platform/http/paging.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import { failureDetails, type StoredFailure } from '@picket/platform/store/details/failure-details.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import { parseCursor } from '@picket/protocol/http/cursor.ts';
import { parseTimestamp } from '@picket/protocol/http/query.ts';
import {
  type CheckResult,
  type CheckResultQuery,
  checkResultRoutes,
  noDetails,
} from '@picket/protocol/results/check-result.ts';
import type { Check } from '../checks/store.ts';
import { withAssetUrls } from './artifacts/asset-urls.ts';
import type { ResultFilter } from './store.ts';
import type { ArtifactRow, ResultRow } from './tables.ts';

const detailOf = storedValue<object>('results.detail', {});

const groupIds = storedValue<readonly string[]>('results.error_group_ids', []);

const windowMs = 6 * 3_600_000;

/** Routes of check results. */
export function checkResultHandlers(deps: HandlerDeps): [string, AnyHandler][] {
  const checkOf = async (accountId: string, checkId: string): Promise<Check> => {
    const check = await deps.store.checks.find(accountId, checkId);
    if (!check) throw new AppError('NOT_FOUND', `There is no check ${checkId}.`);
    return check;
  };
  const viewsOf = async (check: Check, results: readonly ResultRow[]): Promise<CheckResult[]> => {
    const artifacts = await deps.store.readers.artifacts.ofResults(results.map((row) => row.id));
    return results.map((row) => resultView(row, check.name, artifacts.get(row.id), deps.publicUrl));
  };
  return handlersById(checkResultRoutes, {
    async listCheckResults({ caller, params, query, request, reply }) {
      const check = await checkOf(caller.accountId, params.checkId);
      await requireLocation(deps, caller.accountId, query.location, inQuery);
      const { total, results } = await deps.store.readers.results.list(
        filterOf(check, query, deps.clock.wallMs()),
        {
          limit: query.limit,
          offset: pageOffset(query),
        },
      );
      describePage(request, reply, { query, total, publicUrl: deps.publicUrl });
      return viewsOf(check, results);
    },
    async listCheckResultsByCursor({ caller, params, query }) {
      const check = await checkOf(caller.accountId, params.checkId);
      await requireLocation(deps, caller.accountId, query.location, inQuery);
      const filter = filterOf(check, query, deps.clock.wallMs());
      const rows = await deps.store.readers.results.behind(
        filter,
        parseCursor(query.nextId),
        query.limit + 1,
      );
      return pageOf(rows, query.limit, (shown) => viewsOf(check, shown));
    },
    async getCheckResult({ caller, params }) {
      const check = await checkOf(caller.accountId, params.checkId);
      const row = await deps.store.results.find(check.id, params.checkResultId);
      if (!row) throw new AppError('NOT_FOUND', `The check has no result ${params.checkResultId}.`);
      const artifacts = await deps.store.artifacts.ofResults([row.id]);
      return resultView(row, check.name, artifacts.get(row.id), deps.publicUrl);
    },
  });
}

const inQuery = { source: 'query', key: 'location' } as const;

/** @throws AppError VALIDATION_FAILED if the window ends before it begins. */
function filterOf(check: Check, query: Omit<CheckResultQuery, 'page'>, now: number): ResultFilter {
  // Without either, the window ends slightly after now, so that nothing is cut off.
  const end = instant(query.to) ?? now + 1;
  const from = instant(query.from) ?? end - windowMs - (query.to === undefined ? 1 : 0);
  const to = query.from === undefined ? end : (instant(query.to) ?? from + windowMs);
  if (query.to !== undefined && query.from !== undefined && to < from) {
    throw fieldError('query', [{ key: 'to', message: 'must not be before "from"' }]);
  }
  return {
    checkId: check.id,
    from,
    to,
    location: query.location,
    checkType: query.checkType,
    hasFailures: query.hasFailures,
    resultType: query.resultType,
  };
}

function instant(text: string | undefined): number | null {
  return text === undefined ? null : parseTimestamp(text);
}

/** A result as responses show it (check model 3.4). */
export function resultView(
  row: ResultRow,
  checkName: string,
  artifacts: readonly ArtifactRow[] = [],
  publicUrl?: string,
): CheckResult {
  const type = findCheckType(row.check_type);
  return {
    id: row.id,
    checkType: row.check_type,
    resultType: row.result_type,
    name: checkName,
    checkId: row.check_id,
    hasFailures: row.has_failures === 1,
    hasErrors: row.has_errors === 1,
    isDegraded: booleanOrNull(row.is_degraded),
    isCancelled: false,
    overMaxResponseTime: booleanOrNull(row.over_max),
    runLocation: row.run_location,
    startedAt: iso(row.started),
    stoppedAt: iso(row.stopped),
    created_at: iso(row.created),
    responseTime: row.response_time,
    ...noDetails,
    ...(row.detail !== null && {
      [type?.detailKey ?? 'apiCheckResult']: withAssetUrls(
        detailOf(row.detail),
        type?.artifactFields ?? [],
        artifacts,
        publicUrl,
      ),
    }),
    checkRunId: row.check_run_id,
    attempts: row.attempts,
    sequenceId: row.sequence_id,
    errorGroupIds: [...groupIds(row.error_group_ids)],
    scheduledAt: iso(row.slot_at),
    hostStartedAt: row.host_started === null ? null : iso(row.host_started),
    startDelayMs: row.start_delay,
    agentLagMs: row.agent_lag,
    agentOverheadMs: row.agent_overhead,
    isTimingDoubtful: row.timing_doubtful === 1,
    isDetailLeftOut: row.is_detail_left_out === true,
    failure:
      row.owner === null || row.code === null
        ? null
        : failureOf({ ...row, owner: row.owner, code: row.code }),
    artifacts: artifacts.map((artifact) => ({
      name: artifact.name,
      contentType: artifact.content_type,
      sizeBytes: artifact.size_bytes,
      state: artifact.state,
      reason: artifact.reason,
    })),
  };
}

function failureOf(row: StoredFailure & { readonly owner: string; readonly code: string }) {
  const failed = { owner: row.owner, code: row.code, message: row.message ?? '' };
  const { whatFailed, sentence } = failureWords(failed);
  return { ...failed, whatFailed, sentence, details: failureDetails(row) };
}

function iso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

function booleanOrNull(flag: number | null): boolean | null {
  return flag === null ? null : flag === 1;
}
