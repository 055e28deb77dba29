import { minSecretLength } from '@picket/lib/bounds/maskable.ts';
import type { Logger } from '@picket/lib/log.ts';
import { LruMap } from '@picket/lib/lru.ts';
import type { ErrorReporter } from '../error-report/error-reporter.ts';
import type { LocationWatch } from '../location/location-watch.ts';
import { unhealthyReport } from '../location/unhealthy-report.ts';
import type { FinishedRun, RunFacts, RunOrigin } from '../run/contracts.ts';
import type { Scrubber } from '../scrub/scrubber.ts';
import type { Delivery } from './delivery.ts';

const maxNamesWarnedOf = 1000;
/** Number of checks whose last verdict is kept; a location rarely has as many. */
const mostRemembered = 50_000;

/**
 * Handles a run between its execution and its delivery.
 *
 * JUDGED: a failure that the location may have caused waits until the health of the location is known. → COUNTED, and
 * logged if the runner crashed or a secret could not be masked. → Passed to Delivery.
 */
export class FinishedRuns {
  readonly #options: FinishedRunsOptions;
  readonly #judging = new Set<Promise<void>>();
  readonly #namesWarnedOf = new Set<string>();
  /** Whether the last run of each check passed, by id. */
  readonly #passing = new LruMap<string, boolean>(mostRemembered);

  constructor(options: FinishedRunsOptions) {
    this.#options = options;
  }

  /** @param origin of the run, if known. */
  take(run: FinishedRun, origin: RunOrigin | undefined): void {
    const { locationWatch, scrubber } = this.#options;
    const { failureCode, isAborted } = run.facts;
    if (failureCode === undefined || isAborted || !locationWatch.canExplain(failureCode)) {
      this.#deliver(run, origin);
      return;
    }
    const judging = locationWatch.explain(failureCode).then((cause) => {
      this.#judging.delete(judging);
      this.#deliver(cause ? unhealthyReport(run, cause, scrubber) : run, origin);
    });
    this.#judging.add(judging);
  }

  /** Resolves when every failure that waits now has been judged. */
  async judged(): Promise<void> {
    await Promise.all(this.#judging);
  }

  /** Logs, once each, the names of secret variables whose values may appear in results. */
  warnOfUnmasked(names: readonly string[]): void {
    for (const name of names) {
      if (this.#namesWarnedOf.has(name) || this.#namesWarnedOf.size > maxNamesWarnedOf) continue;
      this.#namesWarnedOf.add(name);
      this.#options.log.warn(
        { variable: name },
        `secret variable is not masked in results: its value is shorter than ${minSecretLength} characters or too common, or a word, which is masked only as a separate word`,
      );
    }
  }

  #deliver({ report, facts }: FinishedRun, origin: RunOrigin | undefined): void {
    const { count, log, errorReporter, delivery } = this.#options;
    count(facts, origin?.slotAtMs);
    if (facts.crash) {
      log.error(
        { runId: report.runId, checkType: facts.checkType, crash: facts.crash },
        'check runner crashed',
      );
      if (facts.crashError) errorReporter?.report(Object.assign(new Error(), facts.crashError));
    }
    this.warnOfUnmasked(facts.unmaskedNames);
    const mayWait = this.#isAsBefore(facts, origin) && origin?.mayReportLater === true;
    delivery.deliver(report, facts.isAttempt ? 'attempt' : 'final', { mayWait, endedAtMs: facts.endedAtMs });
  }

  /** Whether a check passed when it ran here last. */
  isPassing(checkId: string): boolean {
    return this.#passing.get(checkId) === true;
  }

  /** Whether a check passed, as it did when it ran here last. */
  #isAsBefore({ verdict }: RunFacts, origin: RunOrigin | undefined): boolean {
    if (!origin) return false;
    const hasPassed = this.isPassing(origin.checkId);
    this.#passing.set(origin.checkId, verdict === 'passed');
    return hasPassed && verdict === 'passed';
  }
}

export interface FinishedRunsOptions {
  readonly log: Logger;
  readonly scrubber: Scrubber;
  readonly locationWatch: LocationWatch;
  /** @param slotAtMs when the run was due, if known. */
  readonly count: (facts: RunFacts, slotAtMs: number | undefined) => void;
  readonly errorReporter: ErrorReporter | undefined;
  readonly delivery: Delivery;
}
