import { isDeepStrictEqual } from 'node:util';
import { type FailureWords, failureWords } from '@picket/checks/judging/failure-words.ts';
import type { Clock } from '@picket/lib/clock.ts';
import { AppError, toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { RootCauseAnalysis } from '@picket/protocol/results/root-cause-analysis.ts';
import { analyse } from './analyse.ts';
import { isOfRun } from './cause-owner.ts';
import type { Analysis } from './conclusion.ts';
import { gatherEvidence } from './gather.ts';
import { storedAnalysis } from './store.ts';
import type { RootCauseAnalysisRow } from './tables.ts';

/** Analyses per turn: an account with very many does not delay those of other accounts. */
const perTurn = 20;
/** By then related failures and the results of other locations are known. */
export const secondLookMs = 3 * 60_000;
/** When a failed analysis is retried. */
const retryMs = 10 * 60_000;

/** Counts analyses by certainty. */
export interface AnalysisCounter {
  countAnalysis(accountId: string, certainty: string): void;
}

export interface AnalystOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: AnalysisCounter;
  /** Whether a model is available for causes that rules leave open. */
  readonly asksModel?: boolean | undefined;
}

/**
 * Looks for the causes of error groups. A new group requests an analysis in the transaction that creates it, and users
 * can request more. An automatic analysis is repeated once a few minutes later, when related failures and the results
 * of other locations are known; analyses that users have judged stay unchanged.
 */
export class Analyst {
  readonly #options: AnalystOptions;

  constructor(options: AnalystOptions) {
    this.#options = options;
  }

  async turn(): Promise<number | null> {
    const { store, clock } = this.#options;
    if ((await store.analyses.nextDueAt()) === null) return null;
    for (const row of await store.analyses.due(clock.wallMs(), perTurn)) await this.#make(row);
    return store.analyses.nextDueAt();
  }

  /** A failed analysis does not delay the others. */
  async #make(row: RootCauseAnalysisRow): Promise<void> {
    const { store, clock, logger } = this.#options;
    try {
      await makeAnalysis(this.#options, row);
    } catch (thrown) {
      if (thrown instanceof AppError) throw thrown;
      logger.error({ analysisId: row.id, err: toError(thrown) }, 'analysis failed; it will be retried');
      await store.analyses.postpone(row.id, clock.wallMs() + retryMs);
    }
  }
}

/** Makes an analysis and stores it; undefined if its group was deleted. */
export async function makeAnalysis(
  { store, clock, metrics, asksModel = false }: Omit<AnalystOptions, 'logger'>,
  row: RootCauseAnalysisRow,
): Promise<Analysis | undefined> {
  const startMs = performance.now();
  const group = await store.errorGroups.find(row.account_id, row.group_kind, row.group_id);
  if (!group) {
    await store.analyses.postpone(row.id, null);
    return undefined;
  }
  const now = clock.wallMs();
  const analysis = analyse(await gatherEvidence(store, group, now));
  const content = JSON.stringify(analysis);
  const isFirst = row.content === null;
  const isNews =
    row.content === null || !isDeepStrictEqual(storedAnalysis(row.content), storedAnalysis(content));
  // A model is always asked about open causes, and about likely ones if a user requested the analysis.
  const isOpen = analysis.certainty === 'OPEN' || (analysis.certainty === 'LIKELY' && row.automatic === 0);
  await store.analyses.complete(row.id, {
    content,
    ...(asksModel && isNews && isOpen ? { model_due: now, model_tries: 0 } : {}),
    duration_ms: Math.round((performance.now() - startMs) * 1000) / 1000,
    completed: now,
    due: isFirst && row.automatic === 1 ? now + secondLookMs : null,
  });
  if (isFirst) metrics.countAnalysis(row.account_id, analysis.certainty);
  return analysis;
}

/**
 * Analysis of the first error of a result. A pending one is made right away, in a few queries, so that notifications do
 * not wait for its turn.
 */
export async function analysisOfResult(
  parts: Omit<AnalystOptions, 'logger'>,
  result: ResultOfCheck,
): Promise<KnownAnalysis | undefined> {
  const { analysis, groupId, failed } = await knownOfResult(parts.store, result);
  if (analysis || groupId === undefined) return analysis;
  const [pending] = await parts.store.analyses.pendingOf([groupId]);
  const made = pending && (await makeAnalysis(parts, pending));
  return made && isOfRun(made, failed ?? null) ? made : undefined;
}

/** An analysis as notifications and pages show it. */
export type KnownAnalysis = Analysis & { readonly fromModel?: RootCauseAnalysis['fromModel'] };

interface ResultOfCheck {
  readonly checkId: string;
  readonly resultId: string;
}

/** Newest analysis of the first error of a result, if any, and the part that failed in this run. */
export async function knownOfResult(
  { analyses, analysisEvidence }: Pick<Store, 'analyses' | 'analysisEvidence'>,
  { checkId, resultId }: ResultOfCheck,
): Promise<{
  readonly groupId?: string;
  readonly failed?: FailureWords | null;
  readonly analysis?: KnownAnalysis;
}> {
  const errors = await analysisEvidence.errorsOf(checkId, resultId);
  const [groupId] = errors?.groupIds ?? [];
  if (!errors || groupId === undefined) return {};
  const { owner, code } = errors.failed;
  const failed = owner === null || code === null ? null : failureWords(errors.failed);
  const [newest] = (await analyses.ofGroups([groupId])).get(groupId) ?? [];
  if (!newest || !isOfRun(newest.analysis, failed)) return { groupId, failed };
  return { groupId, failed, analysis: { ...newest.analysis, fromModel: newest.fromModel } };
}
