import type { ModelAccess } from '@picket/checks/model/access.ts';
import { ModelClient, type ModelNetwork, type ModelOutcome } from '@picket/checks/model/client.ts';
import { type ModelAnswer, ModelError } from '@picket/checks/model/message.ts';
import { DaySpending, RunSpending } from '@picket/checks/model/spending.ts';
import type { Clock } from '@picket/lib/clock.ts';
import { AppError, toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { ModelFindings } from '@picket/protocol/results/root-cause-analysis.ts';
import { gatherEvidence } from '@picket/service/analyses/gather.ts';
import { analysisInput } from '@picket/service/analyses/run-view/case.ts';
import { storedAnalysis } from '@picket/service/analyses/store.ts';
import type { RootCauseAnalysisRow } from '@picket/service/analyses/tables.ts';
import { openCandidates } from './candidates.ts';
import { citedItems } from './items.ts';
import { type Asked, questionOf, rankedBy, secondQuestionOf } from './question.ts';

/** Analyses per turn; accounts alternate. */
const perTurn = 5;
/** Delays before retries after a model failed to respond; after the last one the analysis stays without a model. */
const retriesMs = [60_000, 10 * 60_000];
/** A request that has waited longer than this is no longer useful. */
const longestWaitMs = 6 * 3_600_000;

/** Counts requests to a model, and their usage. */
export interface ModelCounter {
  countModelCall(accountId: string, outcome: ModelOutcome): void;
}

export interface ModelAnalystOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: ModelCounter;
  readonly model: ModelAccess;
  readonly network: ModelNetwork;
}

/**
 * Has a model rank the causes that rules leave open. It runs after the rules and separately: no other work waits for a
 * model, and the rules' findings stay unchanged. Statements of a model are kept only if the evidence that they cite
 * contains them.
 */
export class ModelAnalyst {
  readonly #options: ModelAnalystOptions;
  readonly #day: DaySpending;
  readonly #stopping = new AbortController();

  constructor(options: ModelAnalystOptions) {
    this.#options = options;
    this.#day = new DaySpending(() => options.clock.wallMs());
  }

  async turn(): Promise<number | null> {
    const { store, clock } = this.#options;
    for (const row of await store.analyses.dueForModel(clock.wallMs(), perTurn)) {
      if (this.#stopping.signal.aborted) break;
      await this.#answer(row);
    }
    return store.analyses.nextModelDueAt();
  }

  /** Aborts a request in progress; the next process repeats it. */
  stop(): void {
    this.#stopping.abort(new DOMException('the service stops', 'AbortError'));
  }

  async #answer(row: RootCauseAnalysisRow): Promise<void> {
    const { store, clock, logger } = this.#options;
    const now = clock.wallMs();
    try {
      const asked = now - row.created <= longestWaitMs ? await this.#askedOf(row, now) : undefined;
      if (!asked) {
        await store.analyses.keepModelFindings(row.id, null, null);
        return;
      }
      const findings = await this.#ask(row.account_id, asked);
      const pauseMs =
        findings.problem === null || !findings.isPassing ? undefined : retriesMs[row.model_tries];
      const due = pauseMs === undefined ? null : clock.wallMs() + pauseMs;
      const { isPassing: _, ...kept } = findings;
      await store.analyses.keepModelFindings(row.id, JSON.stringify(kept), due);
    } catch (thrown) {
      if (this.#stopping.signal.aborted || thrown instanceof AppError) throw thrown;
      logger.error({ analysisId: row.id, err: toError(thrown) }, 'asking a model about a root cause failed');
      await store.analyses.keepModelFindings(row.id, null, null);
    }
  }

  /** The request for an analysis; undefined if no cause is left open. */
  async #askedOf(row: RootCauseAnalysisRow, now: number): Promise<Asked | undefined> {
    const { store } = this.#options;
    const certainty = row.content === null ? undefined : storedAnalysis(row.content).certainty;
    const group = await store.errorGroups.find(row.account_id, row.group_kind, row.group_id);
    if (!group || certainty === undefined || certainty === 'CERTAIN') return undefined;
    const given = analysisInput(await gatherEvidence(store, group, now));
    if (!given) return undefined;
    const candidates = openCandidates(given);
    if (candidates.length === 0) return undefined;
    return { candidates, items: citedItems(given), said: row.user_context };
  }

  async #ask(accountId: string, asked: Asked): Promise<ModelFindings & { readonly isPassing: boolean }> {
    const { model, network, metrics, clock, logger } = this.#options;
    const spending = new RunSpending(model, this.#day);
    const client = new ModelClient(model, {
      ...network,
      spending,
      onOutcome: (outcome) => metrics.countModelCall(accountId, outcome),
    });
    const startMs = performance.now();
    const outcome = {
      causes: [] as ModelFindings['causes'],
      droppedCount: 0,
      problem: null as string | null,
    };
    let isPassing = false;
    try {
      const signal = this.#stopping.signal;
      const first: ModelAnswer = await client.ask(questionOf(asked), signal);
      const ranked =
        rankedBy(first, asked) ?? rankedBy(await client.ask(secondQuestionOf(asked, first), signal), asked);
      if (ranked) Object.assign(outcome, { ...ranked, causes: [...ranked.causes] });
      else outcome.problem = 'The model did not answer what it was asked.';
    } catch (thrown) {
      if (!(thrown instanceof ModelError)) throw thrown;
      isPassing = thrown.code === 'MODEL_UNAVAILABLE';
      // Error details of a provider are for the operator: accounts see only that there was no answer.
      outcome.problem = isPassing
        ? 'The model gave no answer. The log of the service says why.'
        : thrown.message;
      const reason = model.apiKey ? thrown.message.replaceAll(model.apiKey, '…') : thrown.message;
      logger.warn({ accountId, reason }, 'no answer of the model about a root cause');
    } finally {
      await client.close();
    }
    const { calls, inputTokens, outputTokens, isEstimated } = spending.spent;
    return {
      ...{ provider: model.protocol, model: model.name, askedAt: new Date(clock.wallMs()).toISOString() },
      durationMs: Math.round(performance.now() - startMs),
      ...outcome,
      usage: { calls, inputTokens, outputTokens, isEstimated, cost: spending.cost },
      isPassing,
    };
  }
}
