import { z } from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { LruMap } from '../../lib/lru.ts';
import type { Store } from '../store.ts';
import { blackboxFamilies } from './blackbox.ts';
import { type Family, type TextFormat, textOf } from './exposition.ts';
import { ownFamilies } from './families.ts';
import { LiveTotals } from './live-totals.ts';
import { mostChecks, type Scope, subjectsOf } from './subjects.ts';

/** What of it is asked for. */
export const CheckMetricsQuery = z.strictObject({
  tags: z
    .union([z.string(), z.array(z.string())])
    .default([])
    .transform((tags) => [tags].flat().flatMap((list) => list.split(',')))
    .transform((tags) => tags.filter((tag) => tag !== ''))
    .pipe(z.array(z.string().max(255)).max(50)),
  names: z.enum(['picket', 'blackbox']).default('picket'),
  phases: z.enum(['sums', 'buckets']).default('sums'),
});
export type CheckMetricsQuery = z.output<typeof CheckMetricsQuery>;

/** How old an answer may be: less than any sensible interval of scrapes, so that no counter seems to go back. */
const freshMs = 3_000;
const keptAnswersBytes = 128 * 1024 * 1024;

interface Answer {
  readonly text: Buffer;
  readonly madeMs: number;
}

/** What is asked for: by whom, what of it, and how it is written. */
interface Request {
  readonly query: CheckMetricsQuery;
  readonly accountId: string | undefined;
  readonly format: TextFormat;
}

/** Metrics of each check, for Prometheus: one answer at a time, kept for a moment for others that ask the same. */
export class CheckMetrics {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #totals: LiveTotals;
  readonly #answers = new LruMap<string, Answer>(keptAnswersBytes, ({ text }) => text.length);
  /** One answer is made at a time; who asks for the same meanwhile gets it, too. */
  #last: Promise<unknown> = Promise.resolve();

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
    this.#totals = new LiveTotals(store);
  }

  text(request: Request): Promise<Buffer> {
    const key = JSON.stringify(request);
    const made = this.#last.then(async () => {
      const known = this.#answers.get(key);
      if (known && this.#clock.monotonicMs() - known.madeMs < freshMs) return known.text;
      const madeMs = this.#clock.monotonicMs();
      const text = await this.#make(request);
      this.#answers.set(key, { text, madeMs });
      return text;
    });
    // The next waits behind it makes an answer of its own; the error is for the one who asked.
    this.#last = made.catch(() => undefined);
    return made;
  }

  async #make({ query, accountId, format }: Request): Promise<Buffer> {
    const scope: Scope = { accountId, tags: query.tags };
    await this.#totals.refresh(this.#clock.wallMs());
    const isBlackbox = query.names === 'blackbox';
    const nameLabel = isBlackbox ? 'instance' : 'name';
    const { subjects, isCut } = await subjectsOf(this.#store, scope, this.#totals.byCheck(), nameLabel);
    const families = isBlackbox
      ? blackboxFamilies
      : [cutFamily(isCut), ...ownFamilies({ areBucketsShown: query.phases === 'buckets' })];
    return textOf(families, subjects, format);
  }
}

/** Says whether an answer is whole. */
function cutFamily(isCut: boolean): Family {
  return {
    name: 'picket_check_metrics_cut',
    type: 'gauge',
    help: `Whether there are more checks than the ${mostChecks} of one answer; then ask by tags`,
    alone: `picket_check_metrics_cut ${Number(isCut)}\n`,
    write: () => undefined,
  };
}
