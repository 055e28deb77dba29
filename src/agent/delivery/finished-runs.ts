import { minSecretLength } from '@picket/lib/bounds/maskable.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { ErrorReporter } from '../error-report/error-reporter.ts';
import type { LocationWatch } from '../location/location-watch.ts';
import { unhealthyReport } from '../location/unhealthy-report.ts';
import type { FinishedRun, RunFacts } from '../run/contracts.ts';
import type { Scrubber } from '../scrub/scrubber.ts';
import type { Delivery } from './delivery.ts';

const maxNamesWarnedOf = 1000;

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

  constructor(options: FinishedRunsOptions) {
    this.#options = options;
  }

  /** @param slotAtMs when the run was due, if known. */
  take(run: FinishedRun, slotAtMs: number | undefined): void {
    const { locationWatch, scrubber } = this.#options;
    const { failureCode, isAborted } = run.facts;
    if (failureCode === undefined || isAborted || !locationWatch.canExplain(failureCode)) {
      this.#deliver(run, slotAtMs);
      return;
    }
    const judging = locationWatch.explain(failureCode).then((cause) => {
      this.#judging.delete(judging);
      this.#deliver(cause ? unhealthyReport(run, cause, scrubber) : run, slotAtMs);
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

  #deliver({ report, facts }: FinishedRun, slotAtMs: number | undefined): void {
    const { count, log, errorReporter, delivery } = this.#options;
    count(facts, slotAtMs);
    if (facts.crash) {
      log.error(
        { runId: report.runId, checkType: facts.checkType, crash: facts.crash },
        'check runner crashed',
      );
      if (facts.crashError) errorReporter?.report(Object.assign(new Error(), facts.crashError));
    }
    this.warnOfUnmasked(facts.unmaskedNames);
    delivery.deliver(report, facts.isAttempt ? 'attempt' : 'final');
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
