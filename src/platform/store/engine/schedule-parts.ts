import type { Logger } from '@picket/lib/log.ts';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type pg from 'pg';
import type { Tables } from '../tables.ts';

/** Number of parts of the schedule, by hash of the check id. Divides equally among 1, 2, 3, 4 and 6 processes. */
export const schedulePartCount = 12;

/** All parts: the share of a process that is alone on its database. */
export const allScheduleParts: readonly number[] = Array.from(
  { length: schedulePartCount },
  (_none, part) => part,
);

/** The part of a check, as in the index of their slots. Hash indexes of PostgreSQL rely on this hash, too. */
const partOfCheck = sql`abs(hashtext(check_slots.check_id) % ${sql.lit(schedulePartCount)})`;

/** Whether the slot of a check is in one of the parts. PostgreSQL only, since on SQLite one process has all. */
export function isInParts(parts: readonly number[]): RawBuilder<boolean> {
  return sql<boolean>`${partOfCheck} = any(${parts}::int[])`;
}

/**
 * Ids and next slots of the checks whose slots are next, the same number of each part, as a row source (PostgreSQL).
 * Checks without a slot come last. Reads each part from the front of its index. It has no condition on the slot: the
 * statistics of the table are older than the slots in it, so that PostgreSQL would soon take most checks for due, and
 * read and sort all of them.
 */
export function nextOfParts(parts: readonly number[], limit: number): RawBuilder<unknown> {
  const perPart = Math.ceil(limit / Math.max(1, parts.length));
  return sql`(select next_ones.* from unnest(${parts}::int[]) as part (number)
    cross join lateral (select check_slots.check_id, check_slots.next_slot_at from check_slots
      where ${partOfCheck} = part.number
      order by check_slots.next_slot_at limit ${perPart}) as next_ones)`;
}

/** Cost of reading any page, where the next one costs 1. */
const pageCostInMemory = '1.1';

const isAlive = `held_until > clock_timestamp()
  and exists (select from pg_stat_activity where pid = leaderships.backend_pid)`;

const makeParts = `
  insert into leaderships (name, holder, backend_pid, held_until)
  select 'part ' || part, '', 0, 'epoch' from generate_series(0, $1::int - 1) as part
  on conflict (name) do nothing`;

/** Registers this process among those that share, and forgets long-gone processes. */
const join = `
  with gone as (
    delete from leaderships
      where name like 'process %' and held_until < clock_timestamp() - interval '1 minute' and holder <> $1)
  insert into leaderships (name, holder, backend_pid, held_until)
  values ('process ' || $1, $1, pg_backend_pid(), clock_timestamp() + $2 * interval '1 millisecond')
  on conflict (name) do update set backend_pid = excluded.backend_pid, held_until = excluded.held_until`;

const leave = `
  with given as (
    update leaderships set holder = '', held_until = 'epoch' where name like 'part %' and holder = $1)
  delete from leaderships where name = 'process ' || $1`;

/**
 * Renews the parts of this process, returns those above its share, and takes free ones up to it. Skips a part whose
 * holder is in the middle of a transaction, which locks its row.
 */
const share = `
  with fair as (
    select ceil($3::numeric / greatest(1, count(*)))::int as parts
      from leaderships where name like 'process %' and ${isAlive}),
  own as (
    select name, row_number() over (order by name) as place from leaderships where name like 'part %' and holder = $1),
  kept as (
    update leaderships set backend_pid = pg_backend_pid(), held_until = clock_timestamp() + $2 * interval '1 millisecond'
      from own, fair where leaderships.name = own.name and own.place <= fair.parts and holder = $1
      returning leaderships.name),
  given as (
    update leaderships set holder = '', held_until = 'epoch'
      from own, fair where leaderships.name = own.name and own.place > fair.parts and holder = $1),
  free as (
    select name from leaderships where name like 'part %' and holder <> $1 and not (${isAlive})
      order by name limit (select greatest(0, parts - (select count(*) from own)) from fair)
      for update skip locked),
  taken as (
    update leaderships
      set holder = $1, backend_pid = pg_backend_pid(), held_until = clock_timestamp() + $2 * interval '1 millisecond'
      from free where leaderships.name = free.name returning leaderships.name)
  select (select count(*) from kept)::int as kept, (select count(*) from taken)::int as taken`;

/**
 * The schedule, divided among the service processes on one PostgreSQL. A part is a row that its holder renews, like
 * leadership; so is each process, and their number determines the fair share.
 *
 * Free → mine: the row is free, its holder was silent for too long, or its connection is gone. Mine → free: the number
 * of processes has grown. A stopped process learns of neither before it resumes; so it turns slots into runs in
 * transactions that lock the rows of its parts, which prevents takeovers, and reads there which parts it still has.
 */
export class ScheduleParts {
  readonly #holder: string;
  readonly #heldMs: number;
  readonly #logger: Logger;
  #hasJoined = false;
  #held = 0;
  #sharing: Promise<boolean> | undefined;

  /** @param options.heldMs a part becomes free if it is not renewed for this long. */
  constructor(options: { readonly holder: string; readonly heldMs: number; readonly logger: Logger }) {
    this.#holder = options.holder;
    this.#heldMs = options.heldMs;
    this.#logger = options.logger;
  }

  /**
   * Joins the schedule; before that, this process does not count as scheduling.
   *
   * @param client absent while there is no connection: `share` follows once there is one.
   */
  async join(client: pg.Client | undefined): Promise<void> {
    if (this.#hasJoined) return;
    this.#hasJoined = true;
    if (client) await this.share(client);
  }

  /** Releases all parts: other processes need not wait for the end of the connection. */
  async leave(client: pg.Client | undefined): Promise<void> {
    if (!this.#hasJoined) return;
    this.#hasJoined = false;
    await this.#sharing?.catch(() => undefined);
    this.#held = 0;
    await client?.query(leave, [this.#holder]);
  }

  /**
   * Renews, releases and acquires parts.
   *
   * @param client whose end releases the parts.
   * @returns whether this process has acquired parts.
   */
  async share(client: pg.Client): Promise<boolean> {
    if (!this.#hasJoined) return false;
    this.#sharing ??= this.#share(client).finally(() => {
      this.#sharing = undefined;
    });
    return this.#sharing;
  }

  async #share(client: pg.Client): Promise<boolean> {
    if (this.#held === 0) await client.query(makeParts, [schedulePartCount]);
    await client.query(join, [this.#holder, this.#heldMs]);
    const { rows } = await client.query<{ kept: number; taken: number }>(share, [
      this.#holder,
      this.#heldMs,
      schedulePartCount,
    ]);
    const { kept = 0, taken = 0 } = rows[0] ?? {};
    if (kept + taken !== this.#held) {
      this.#held = kept + taken;
      this.#logger.info({ parts: this.#held, of: schedulePartCount }, 'share of the schedule changed');
    }
    return taken > 0;
  }

  /**
   * Returns the parts of this process, locked until the end of the transaction. In it PostgreSQL expects pages in memory:
   * slots are read and written there all the time, and with its default for disks it would read the whole table of them
   * in each turn rather than find a hundred by their index.
   */
  async lock(transaction: Kysely<Tables>): Promise<number[]> {
    const { rows } = await sql<{ name: string }>`
      select name, set_config('random_page_cost', ${pageCostInMemory}, true) from leaderships
      where name like 'part %' and holder = ${this.#holder} order by name for key share`.execute(transaction);
    return rows.map(({ name }) => Number(name.slice('part '.length)));
  }
}

/** Number of parts of the schedule without a living holder. */
export async function unheldParts(db: Kysely<Tables>): Promise<number> {
  const { rows } = await sql<{ held: number }>`select count(*)::int as held from leaderships
    where name like 'part %' and ${sql.raw(isAlive)}`.execute(db);
  return schedulePartCount - (rows[0]?.held ?? 0);
}
