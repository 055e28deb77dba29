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

/** Analyses of one turn: the others of an account that has very many wait for those of the others. */
const perTurn = 20;
/** What failed with it and what the other locations found is known by then. */
export const secondLookMs = 3 * 60_000;
/** One that could not be made is tried again then. */
const retryMs = 10 * 60_000;

/** Counts analyses by how certain they are. */
export interface AnalysisCounter {
  countAnalysis(accountId: string, certainty: string): void;
}

export interface AnalystOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: AnalysisCounter;
  /** Whether there is a model to ask about what rules leave open. */
  readonly asksModel?: boolean | undefined;
}

/**
 * Looks for the causes of error groups. A group that is new has asked for it in the transaction that made it, and
 * people ask for more. What nobody asked for is looked at once more a few minutes later, when it is known what else
 * failed and what other locations found; what people have judged stays as it is.
 */
export class Analyst {
  readonly #options: AnalystOptions;

  constructor(options: AnalystOptions) {
    this.#options = options;
  }

  async turn(): Promise<number | null> {
    const { store, clock } = this.#options;
    for (const row of await store.analyses.due(clock.wallMs(), perTurn)) await this.#make(row);
    return store.analyses.nextDueAt();
  }

  /** One that breaks makes no other wait. */
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

/** Makes an analysis and stores it; undefined where its group is gone. */
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
  // What is likely is worth a question where somebody asked for it; what is open, always.
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
 * What is known of the cause of a result's first error. One that nobody has looked into yet is looked into now, in a
 * few queries: who notifies of it does not have to wait for a turn.
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

/** What notifications and pages show of an analysis. */
export type KnownAnalysis = Analysis & { readonly fromModel?: RootCauseAnalysis['fromModel'] };

interface ResultOfCheck {
  readonly checkId: string;
  readonly resultId: string;
}

/** The newest analysis of a result's first error, if there is one, and of what failed in this run. */
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
