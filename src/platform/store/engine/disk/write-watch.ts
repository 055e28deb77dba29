import { randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '@picket/lib/clock.ts';
import { toError } from '@picket/lib/errors.ts';
import type { Kysely } from 'kysely';
import type { Tables } from '../../tables.ts';
import { storageProblemOf } from './storage-problem.ts';

/** Lifetime of a finding: a probe each second does not cause a write each second. */
const goodMs = 5_000;
const badMs = 1_000;
/** Test file that a data directory must accept. */
const fileBytes = 1024 * 1024;
/** After a refused write, the test must grow a server's table by this; a single row fits into existing pages. */
const growthBytes = 64 * 1024;

/**
 * Whether the store accepts writes, determined by writing. Reads succeed on a full disk, so a readiness check that only
 * reads would report ready.
 *
 * TAKES writes → REFUSES when a test write fails → TAKES when a later one succeeds. After a statement failed on a full
 * disk, the next test write is larger.
 */
export class WriteWatch {
  readonly #db: Kysely<Tables>;
  readonly #clock: Clock;
  readonly #directory: string | undefined;
  #isDoubted = false;
  #refused = 0;
  #last: { readonly atMs: number; readonly isGood: boolean; readonly outcome: Promise<void> } | undefined;
  #trying: Promise<void> | undefined;

  /** @param directory of an embedded database. */
  constructor(db: Kysely<Tables>, clock: Clock, directory: string | undefined) {
    this.#db = db;
    this.#clock = clock;
    this.#directory = directory;
  }

  /** Number of statements that failed because of a disk. */
  get refused(): number {
    return this.#refused;
  }

  /** Records a failed statement. */
  record(error: Error): void {
    if (storageProblemOf(error) === undefined) return;
    this.#refused += 1;
    this.#isDoubted = true;
  }

  /** @throws the error of the disk or the database when the store refuses writes. */
  async check(): Promise<void> {
    const last = this.#last;
    const ageMs = this.#clock.monotonicMs() - (last?.atMs ?? 0);
    if (last && ageMs < (last.isGood && !this.#isDoubted ? goodMs : badMs)) return last.outcome;
    this.#trying ??= this.#try().finally(() => {
      this.#trying = undefined;
    });
    return this.#trying;
  }

  async #try(): Promise<void> {
    const outcome = this.#write(this.#isDoubted);
    this.#isDoubted = false;
    const isGood = await outcome.then(
      () => true,
      () => false,
    );
    this.#last = { atMs: this.#clock.monotonicMs(), isGood, outcome };
    if (!isGood) this.#isDoubted = true;
    return outcome;
  }

  async #write(isDoubted: boolean): Promise<void> {
    if (this.#directory !== undefined) await this.#writeFile(this.#directory);
    const content = isDoubted ? randomBytes(growthBytes) : Buffer.alloc(1);
    await this.#db
      .insertInto('write_tries')
      .values({ id: 1, content })
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ content }))
      .execute();
  }

  async #writeFile(directory: string): Promise<void> {
    const path = join(directory, `.write-try-${process.pid}`);
    try {
      await writeFile(path, Buffer.alloc(fileBytes), { mode: 0o600 });
    } catch (thrown) {
      throw Object.assign(toError(thrown), { isOfDatabase: true });
    } finally {
      await rm(path, { force: true });
    }
  }
}
