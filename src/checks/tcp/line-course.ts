import { firstMatch } from '../../lib/bounds/bounded-regex.ts';
import { WorkExceeded } from '../../lib/bounds/work-budget.ts';
import { ProbeError } from '../../probes/connection/errors.ts';
import type { DialogueStep, LineStepOutcome, TakenLine } from '../../probes/dialogue/steps.ts';
import { type Failure, failure, reworded } from '../contract/failure.ts';
import { detailsFor } from '../contract/failure-details.ts';
import { toMicroseconds } from '../contract/outcome.ts';
import { assertionBudget } from '../judging/evaluate.ts';
import { render, TemplateError } from '../judging/templating.ts';
import { shownValue } from '../judging/verdict.ts';
import type { TcpDetail } from './detail.ts';
import { type TcpStep, usualTcpStepTimeoutMs } from './spec.ts';

/** The steps of one run: what the probe does, and what is found out by that. */
export class LineCourse {
  readonly #steps: readonly TcpStep[];
  readonly #variables: Record<string, string>;
  readonly #lines = new Map<number, string>();
  readonly #skipped = new Map<number, number>();
  readonly #budget = assertionBudget();
  /** Why a line could not be judged. */
  #tooCostly: string | undefined;

  /** @param variables for templates; what steps capture comes to them. */
  constructor(steps: readonly TcpStep[], variables: Readonly<Record<string, string>>) {
    this.#steps = steps;
    this.#variables = { ...variables };
  }

  /** For the probe. */
  get dialogue(): DialogueStep[] {
    return this.#steps.map((step, index): DialogueStep => {
      const timeoutMs = step.timeoutMs ?? usualTcpStepTimeoutMs;
      if (step.type === 'SEND') return { kind: 'send', data: () => Buffer.from(this.#filled(step.text)) };
      if (step.type === 'START_TLS') return { kind: 'start-tls', timeoutMs };
      return { kind: 'expect', timeoutMs, take: (line) => this.#take(step, index, line) };
    });
  }

  #filled(text: string): string {
    try {
      return render(text, this.#variables, 'raw');
    } catch (thrown) {
      if (!(thrown instanceof TemplateError)) throw thrown;
      throw new ProbeError('request-invalid', 'data', thrown.message);
    }
  }

  #take(step: TcpStep, index: number, line: string): TakenLine {
    this.#lines.set(index, line);
    try {
      if (line.includes(this.#filled(step.text)) && this.#matches(step.regex, line)) return 'taken';
    } catch (thrown) {
      if (!(thrown instanceof WorkExceeded)) throw thrown;
      this.#tooCostly = thrown.message;
      return 'refused';
    }
    this.#skipped.set(index, (this.#skipped.get(index) ?? 0) + 1);
    return 'passed-over';
  }

  #matches(regex: string, line: string): boolean {
    if (regex === '') return true;
    const match = firstMatch(regex, line, this.#budget) as RegExpExecArray | null;
    for (const [name, value] of Object.entries(match?.groups ?? {})) this.#variables[name] = value ?? '';
    return match !== null;
  }

  /** What became of each step. */
  detail(outcomes: readonly LineStepOutcome[]): NonNullable<TcpDetail['steps']> {
    return this.#steps.map(({ type }, index) => {
      const outcome = outcomes[index];
      return {
        type,
        state: outcome ? (outcome.isDone ? 'DONE' : 'FAILED') : 'NOT_REACHED',
        waitMs: toMicroseconds(outcome?.waitMs ?? 0),
        line: this.#lines.get(index)?.slice(0, 2000).toWellFormed() ?? null,
        skippedCount: this.#skipped.get(index) ?? 0,
      };
    });
  }

  /** The failure of the step that failed, with what came instead. */
  failure(outcomes: readonly LineStepOutcome[], met: Failure | undefined): Failure | undefined {
    const index = outcomes.findIndex(({ isDone }) => !isDone);
    const step = this.#steps[index];
    if (!step) return met;
    const name = `Step ${index + 1} (${step.type})`;
    if (this.#tooCostly !== undefined) return failure('ASSERTION_TOO_COSTLY', `${name}: ${this.#tooCostly}`);
    const line = this.#lines.get(index);
    if (!met || line === undefined || step.type !== 'EXPECT') {
      return met && reworded(met, `${name}: ${met.message}`);
    }
    const wanted = [
      step.text === '' ? '' : shownValue(step.text),
      step.regex === '' ? '' : `/${step.regex}/`,
    ];
    const words = wanted.filter((word) => word !== '').join(' and ');
    // Something was said, and not what is expected: that is no silence.
    const code = met.code === 'RESPONSE_TIMEOUT' ? 'DIALOGUE_FAILED' : met.code;
    const message = `${name}: expected ${words}, received ${shownValue(line)}; ${met.message}`;
    return failure(code, message, detailsFor(code, met.details ?? {}));
  }
}
