import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { ServiceNameRow } from './tables.ts';

/** Names by which the service was called. */
export class ServiceNames extends Repository {
  async record(row: ServiceNameRow): Promise<void> {
    const { source, seen } = row;
    await this.db
      .insertInto('service_names')
      .values(row)
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ source, seen }))
      .execute();
  }

  /** Names seen since an instant. */
  async since(seenMs: number): Promise<ServiceNameRow[]> {
    return this.db.selectFrom('service_names').selectAll().where('seen', '>=', seenMs).execute();
  }

  async isKnown(name: string, seenMs: number): Promise<boolean> {
    const row = await this.db
      .selectFrom('service_names')
      .select('name')
      .where('name', '=', name)
      .where('seen', '>=', seenMs)
      .executeTakeFirst();
    return row !== undefined;
  }

  async forgetBefore(seenMs: number): Promise<void> {
    await this.db.deleteFrom('service_names').where('seen', '<', seenMs).execute();
  }
}
