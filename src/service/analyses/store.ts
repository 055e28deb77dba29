import { batches } from '@picket/platform/store/engine/queries.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import { storedJson } from '@picket/platform/store/stored-json.ts';
import { ModelFindings, RootCauseAnalysis } from '@picket/protocol/results/root-cause-analysis.ts';
import { sql } from 'kysely';
import type { RootCauseAnalysisRow } from './tables.ts';

/** Parser for an analysis that any build stored. */
export const storedAnalysis = storedJson('root_cause_analyses.content', RootCauseAnalysis.shape.analysis);
const fromModel = storedJson('root_cause_analyses.model_content', ModelFindings);

/** Origin of analyses by rules. */
export const ownMaker = { provider: 'picket', model: 'rules' } as const;

/** Analyses shown for an error group; older ones are kept as long as the group. */
const maxShown = 10;
/** A time further ahead than this was set by a clock that was ahead. */
const longestWaitMs = 30 * 60_000;

/** Parameters of a requested analysis. */
export interface RequestedAnalysis {
  readonly id: string;
  readonly accountId: string;
  readonly groupId: string;
  readonly groupKind: RootCauseAnalysisRow['group_kind'];
  readonly isAutomatic: boolean;
  readonly userContext: string | null;
}

/** Analyses of the causes of error groups, including pending ones. */
export class RootCauseAnalyses extends Repository {
  /** Requests analyses, due immediately. */
  async ask(asked: readonly RequestedAnalysis[], now: number): Promise<void> {
    const rows = asked.map(
      (one): RootCauseAnalysisRow => ({
        ...{ id: one.id, account_id: one.accountId, group_id: one.groupId, group_kind: one.groupKind },
        ...{ automatic: one.isAutomatic ? 1 : 0, ...ownMaker, content: null, duration_ms: null },
        ...{ user_context: one.userContext, verdict: null, created: now, completed: null, due: now },
        ...{ model_content: null, model_due: null, model_tries: 0 },
      }),
    );
    for (const batch of batches(rows)) {
      await this.db.insertInto('root_cause_analyses').values(batch).execute();
    }
  }

  /** Number of pending analyses of an account. */
  async countPending(accountId: string, limit: number): Promise<number> {
    const rows = await this.db
      .selectFrom('root_cause_analyses')
      .select('id')
      .where('account_id', '=', accountId)
      .where('content', 'is', null)
      .limit(limit)
      .execute();
    return rows.length;
  }

  /** Due analyses: the first of each account before the second of any. */
  async due(now: number, limit: number): Promise<RootCauseAnalysisRow[]> {
    const { rows } = await sql<RootCauseAnalysisRow>`
      select * from (
        select root_cause_analyses.*,
          row_number() over (partition by account_id order by due, id) as turn
        from root_cause_analyses
        where due is not null and (due <= ${now} or due > ${now + longestWaitMs})) as ranked
      where turn <= ${limit} order by turn, due, id limit ${limit}`.execute(this.db);
    return rows;
  }

  async nextDueAt(): Promise<number | null> {
    const row = await this.db
      .selectFrom('root_cause_analyses')
      .select((eb) => eb.fn.min('due').as('at'))
      .where('due', 'is not', null)
      .executeTakeFirst();
    return row?.at ?? null;
  }

  /**
   * Stores an analysis, and when to repeat it; with `model_due`, when to ask a model about it. Analyses that users have
   * judged stay unchanged.
   */
  async complete(
    id: string,
    {
      due,
      ...done
    }: Pick<RootCauseAnalysisRow, 'content' | 'duration_ms' | 'completed' | 'due'> &
      Partial<Pick<RootCauseAnalysisRow, 'model_due' | 'model_tries'>>,
  ): Promise<void> {
    await this.postpone(id, due);
    await this.db
      .updateTable('root_cause_analyses')
      .set(done)
      .where('id', '=', id)
      .where('verdict', 'is', null)
      .execute();
  }

  /** Analyses that a model is to be asked about: the first of each account before the second of any. */
  async dueForModel(now: number, limit: number): Promise<RootCauseAnalysisRow[]> {
    const { rows } = await sql<RootCauseAnalysisRow>`
      select * from (
        select root_cause_analyses.*,
          row_number() over (partition by account_id order by model_due, id) as turn
        from root_cause_analyses
        where model_due is not null and (model_due <= ${now} or model_due > ${now + longestWaitMs})) as ranked
      where turn <= ${limit} order by turn, model_due, id limit ${limit}`.execute(this.db);
    return rows;
  }

  async nextModelDueAt(): Promise<number | null> {
    const row = await this.db
      .selectFrom('root_cause_analyses')
      .select((eb) => eb.fn.min('model_due').as('at'))
      .where('model_due', 'is not', null)
      .executeTakeFirst();
    return row?.at ?? null;
  }

  /** Stores findings of a model, and when to ask it again. */
  async keepModelFindings(id: string, content: string | null, due: number | null): Promise<void> {
    await this.db
      .updateTable('root_cause_analyses')
      .set((eb) => ({
        model_content: content,
        model_due: due,
        model_tries: due === null ? 0 : eb('model_tries', '+', 1),
      }))
      .where('id', '=', id)
      .execute();
  }

  /** Postpones an analysis, or cancels it if `due` is null. */
  async postpone(id: string, due: number | null): Promise<void> {
    await this.db.updateTable('root_cause_analyses').set({ due }).where('id', '=', id).execute();
  }

  async find(accountId: string, id: string): Promise<RootCauseAnalysisRow | undefined> {
    return this.db
      .selectFrom('root_cause_analyses')
      .selectAll()
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .executeTakeFirst();
  }

  async judge(
    accountId: string,
    id: string,
    verdict: RootCauseAnalysisRow['verdict'],
  ): Promise<RootCauseAnalysisRow | undefined> {
    return this.db
      .updateTable('root_cause_analyses')
      .set({ verdict })
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .where('content', 'is not', null)
      .returningAll()
      .executeTakeFirst();
  }

  /** Finished analyses of the given groups, newest first, as the API shows them. */
  async ofGroups(groupIds: readonly string[]): Promise<Map<string, RootCauseAnalysis[]>> {
    if (groupIds.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('root_cause_analyses')
      .selectAll()
      .where(this.dialect.inList('group_id', [...new Set(groupIds)]))
      .where('content', 'is not', null)
      .orderBy('created', 'desc')
      .orderBy('id', 'desc')
      .execute();
    const byGroup = Map.groupBy(rows, (row) => row.group_id);
    return new Map([...byGroup].map(([id, list]) => [id, list.slice(0, maxShown).map(analysisView)]));
  }

  /** Pending analyses of the given groups. */
  async pendingOf(groupIds: readonly string[]): Promise<RootCauseAnalysisRow[]> {
    if (groupIds.length === 0) return [];
    return this.db
      .selectFrom('root_cause_analyses')
      .selectAll()
      .where(this.dialect.inList('group_id', [...new Set(groupIds)]))
      .where('content', 'is', null)
      .execute();
  }

  /** Number of analyses that users judged right and wrong, by account. */
  async countVerdicts(accountId?: string): Promise<{ account: string; verdict: string; count: number }[]> {
    let query = this.db
      .selectFrom('root_cause_analyses')
      .select(['account_id', 'verdict'])
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .where('verdict', 'is not', null)
      .groupBy(['account_id', 'verdict']);
    if (accountId !== undefined) query = query.where('account_id', '=', accountId);
    const rows = await query.execute();
    return rows.map((row) => ({
      account: row.account_id,
      verdict: row.verdict ?? '',
      count: Number(row.count),
    }));
  }
}

/** A finished analysis as the API shows it. */
export function analysisView(row: RootCauseAnalysisRow): RootCauseAnalysis {
  const analysis = storedAnalysis(row.content ?? '');
  return {
    id: row.id,
    created_at: new Date(row.created).toISOString(),
    provider: row.provider,
    model: row.model,
    durationMs: row.duration_ms ?? 0,
    analysis,
    // If the rules are certain, a model has nothing to add.
    fromModel:
      row.model_content === null || analysis.certainty === 'CERTAIN' ? null : fromModel(row.model_content),
    userContext: row.user_context === null ? null : [{ text: row.user_context, type: 'TEXT' }],
    verdict: row.verdict,
  };
}
