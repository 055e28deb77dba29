import { Readable } from 'node:stream';
import type { Clock } from '@picket/lib/clock.ts';
import { toError } from '@picket/lib/errors.ts';
import { LruMap } from '@picket/lib/lru.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { z } from 'zod';
import { blackboxFamilies } from './blackbox.ts';
import { type Family, type SampleSink, type TextFormat, TextSink, writeFamilies } from './exposition.ts';
import { ownFamilies } from './families.ts';
import { LiveTotals } from './live-totals.ts';
import { SubjectLabels } from './subject-labels.ts';
import { mostChecks, type Scope, subjectsOf } from './subjects.ts';

/** Filter of a request. */
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

/** Maximum age of a response: less than any sensible scrape interval, so that no counter appears to go back. */
const freshMs = 3_000;
const keptAnswersBytes = 128 * 1024 * 1024;

interface Answer {
  readonly parts: readonly Buffer[];
  readonly sizeBytes: number;
  readonly madeMs: number;
}

/** A request: account, filter, and format. */
interface Request {
  readonly query: CheckMetricsQuery;
  readonly accountId: string | undefined;
  readonly format: TextFormat;
}

/** Metrics of each check for Prometheus: responses are generated one at a time, and cached briefly. */
export class CheckMetrics {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #totals: LiveTotals;
  readonly #answers = new LruMap<string, Answer>(keptAnswersBytes, ({ sizeBytes }) => sizeBytes);
  readonly #ownLabels = new SubjectLabels('name');
  readonly #blackboxLabels = new SubjectLabels('instance');
  /** Responses are generated one at a time; identical requests that arrive meanwhile share the result. */
  #last: Promise<unknown> = Promise.resolve();

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
    this.#totals = new LiveTotals(store);
  }

  /** Response as text, streamed while it is generated: a client needs as long to read it as generating it takes. */
  text(request: Request): Promise<Readable> {
    const { promise, resolve, reject } = Promise.withResolvers<Readable>();
    this.#inTurn(async () => {
      const key = JSON.stringify(request);
      const known = this.#answers.get(key);
      if (known && this.#clock.monotonicMs() - known.madeMs < freshMs) {
        resolve(Readable.from(known.parts));
        return;
      }
      const madeMs = this.#clock.monotonicMs();
      const samples = await this.#samples(request);
      const parts: Buffer[] = [];
      const stream = new Readable({ read: () => undefined });
      resolve(stream);
      const sink = new TextSink(request.format, (part) => {
        parts.push(part);
        // If the client has disconnected, generation continues for identical requests.
        if (!stream.destroyed) stream.push(part);
      });
      try {
        await writeFamilies(samples.families, samples.subjects, sink);
      } catch (thrown) {
        // The client sees a truncated response.
        stream.destroy(toError(thrown));
        throw thrown;
      }
      sink.end();
      if (!stream.destroyed) stream.push(null);
      const sizeBytes = parts.reduce((sum, part) => sum + part.length, 0);
      this.#answers.set(key, { parts, sizeBytes, madeMs });
    }).catch(reject);
    return promise;
  }

  /** Writes all samples of all accounts to a sink, under Picket's own names. */
  writeAll(sink: SampleSink): Promise<void> {
    return this.#inTurn(async () => {
      const query = CheckMetricsQuery.parse({});
      const { families, subjects } = await this.#samples({ query, accountId: undefined });
      await writeFamilies(families, subjects, sink);
    });
  }

  #inTurn<T>(make: () => Promise<T>): Promise<T> {
    const made = this.#last.then(make);
    // The next request generates its own response; the error is for the caller of this one.
    this.#last = made.catch(() => undefined);
    return made;
  }

  async #samples({ query, accountId }: Omit<Request, 'format'>) {
    const scope: Scope = { accountId, tags: query.tags };
    const now = this.#clock.wallMs();
    await this.#totals.refresh(now);
    const isBlackbox = query.names === 'blackbox';
    const totals = this.#totals.byCheck();
    const labels = isBlackbox ? this.#blackboxLabels : this.#ownLabels;
    const { subjects, isCut } = await subjectsOf(this.#store, scope, now, totals, labels);
    const families = isBlackbox
      ? blackboxFamilies
      : [cutFamily(isCut), ...ownFamilies({ areBucketsShown: query.phases === 'buckets' })];
    return { families, subjects };
  }
}

/** States whether a response is complete. */
function cutFamily(isCut: boolean): Family {
  return {
    name: 'picket_check_metrics_cut',
    type: 'gauge',
    help: `Whether there are more checks than the ${mostChecks} of one response; if so, filter by tags`,
    alone: Number(isCut),
    write: () => undefined,
  };
}
