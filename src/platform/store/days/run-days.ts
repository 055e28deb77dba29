import { type Kysely, sql } from 'kysely';
import type { Dialect } from '../engine/dialect.ts';
import type { Tables } from '../tables.ts';
import { Days, type Part } from './days.ts';
import { notEnded } from './ended-day.ts';
import { droppingRunsBefore, runTables } from './run-tables.ts';

/** Runs in progress in a small table, and ended runs in daily partitions. */
export class RunDays extends Days {
  constructor(db: Kysely<Tables>, dialect: Dialect) {
    super(db, dialect, runTables);
  }

  /** Returns the partitions that may be dropped: days that ended before an instant, and the old table once empty. */
  async due(before: number): Promise<Part[]> {
    const parts = (await this.parts()).filter((part) => !part.isOutside);
    const days = parts.filter(({ from, to }) => from > notEnded && to <= before);
    const old = parts.find(({ name }) => name === this.table.before);
    return old && (await this.#isEmpty(old)) ? [old, ...days] : days;
  }

  override async drop(part: Part): Promise<void> {
    if (part.name === this.table.before) await this.changeAtOnce(droppingRunsBefore);
    else await super.drop(part);
  }

  async #isEmpty(part: Part): Promise<boolean> {
    const { rows } = await sql`select from ${sql.table(part.name)} limit 1`.execute(this.db);
    return rows.length === 0;
  }
}
