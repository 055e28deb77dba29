import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { TriggerRow } from '../stored/tables.ts';

type Target = Pick<TriggerRow, 'account_id' | 'kind' | 'target_id'>;

/** URLs that, when called, run a check, or the checks of a group. */
export class Triggers extends Repository {
  /** Creates a trigger; an existing one gets the new token. */
  async put(row: TriggerRow, now: number): Promise<TriggerRow> {
    return this.db
      .insertInto('triggers')
      .values(row)
      .onConflict((conflict) =>
        conflict
          .columns(['account_id', 'kind', 'target_id'])
          .doUpdateSet({ token: row.token, called: null, updated: now }),
      )
      .returningAll()
      .executeTakeFirstOrThrow();
  }

  async find(target: Target): Promise<TriggerRow | undefined> {
    return this.db
      .selectFrom('triggers')
      .selectAll()
      .where('account_id', '=', target.account_id)
      .where('kind', '=', target.kind)
      .where('target_id', '=', target.target_id)
      .executeTakeFirst();
  }

  async findByToken(token: string): Promise<TriggerRow | undefined> {
    return this.db.selectFrom('triggers').selectAll().where('token', '=', token).executeTakeFirst();
  }

  async recordCall(id: string, now: number): Promise<void> {
    await this.db.updateTable('triggers').set({ called: now }).where('id', '=', id).execute();
  }

  /** Returns whether it existed. */
  async delete(target: Target): Promise<boolean> {
    const done = await this.db
      .deleteFrom('triggers')
      .where('account_id', '=', target.account_id)
      .where('kind', '=', target.kind)
      .where('target_id', '=', target.target_id)
      .executeTakeFirst();
    return done.numDeletedRows > 0n;
  }
}
