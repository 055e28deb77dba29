import { Repository } from '../../store/engine/repository.ts';
import type { StoredAnswerRow } from './tables.ts';

/** Responses to requests that carry an idempotency key. */
export class StoredAnswers extends Repository {
  /** Whether this request is the first with its key; ignores a row older than `before`. */
  async reserve(row: Omit<StoredAnswerRow, 'sealed_answer'>, before: number): Promise<boolean> {
    await this.db
      .deleteFrom('stored_answers')
      .where('key_hash', '=', row.key_hash)
      .where('created', '<', before)
      .execute();
    const { numInsertedOrUpdatedRows } = await this.db
      .insertInto('stored_answers')
      .values({ ...row, sealed_answer: null })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirstOrThrow();
    return Number(numInsertedOrUpdatedRows ?? 0) > 0;
  }

  async find(keyHash: string): Promise<StoredAnswerRow | undefined> {
    return this.db
      .selectFrom('stored_answers')
      .selectAll()
      .where('key_hash', '=', keyHash)
      .executeTakeFirst();
  }

  async complete(
    { key_hash, process_id }: Pick<StoredAnswerRow, 'key_hash' | 'process_id'>,
    sealedAnswer: string,
  ): Promise<void> {
    await this.db
      .updateTable('stored_answers')
      .set({ sealed_answer: sealedAnswer })
      .where('key_hash', '=', key_hash)
      .where('process_id', '=', process_id)
      .execute();
  }

  /** Deletes the row of a request that changed nothing; a later reservation by another request stays. */
  async remove({ key_hash, process_id }: Pick<StoredAnswerRow, 'key_hash' | 'process_id'>): Promise<void> {
    await this.db
      .deleteFrom('stored_answers')
      .where('key_hash', '=', key_hash)
      .where('process_id', '=', process_id)
      .where('sealed_answer', 'is', null)
      .execute();
  }

  /** Deletes up to `limit` old rows and returns whether there may be more. */
  async prune(before: number, limit: number): Promise<boolean> {
    const old = this.db
      .selectFrom('stored_answers')
      .select('key_hash')
      .where('created', '<', before)
      .orderBy('created')
      .limit(limit);
    const { numDeletedRows } = await this.db
      .deleteFrom('stored_answers')
      .where('key_hash', 'in', old)
      .executeTakeFirstOrThrow();
    return Number(numDeletedRows) === limit;
  }
}
