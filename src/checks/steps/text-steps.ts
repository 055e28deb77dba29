import { firstMatch } from '@picket/lib/bounds/bounded-regex.ts';
import { WorkExceeded } from '@picket/lib/bounds/work-budget.ts';
import { ProbeError, type ProbePhase } from '@picket/probes/connection/errors.ts';
import { type Failure, failure } from '../contract/failure.ts';
import { render, TemplateError } from '../judging/templating.ts';
import { shownValue } from '../judging/verdict.ts';
import { StepRecord } from './step-record.ts';

/** A step that expects a text. */
export interface TextStep {
  /** What it contains; a template. */
  readonly text: string;
  /** What it matches; empty: anything. */
  readonly regex: string;
}

/** Steps that expect texts: which ones fit, and what is captured of them for later steps. */
export class TextSteps<Step extends TextStep> extends StepRecord<Step, string> {
  readonly #variables: Record<string, string>;
  readonly #phase: ProbePhase;
  /** Why a text could not be judged. */
  #tooCostly: string | undefined;

  /** @param variables for templates; what steps capture comes to them. @param phase in which steps are sent. */
  constructor(steps: readonly Step[], variables: Readonly<Record<string, string>>, phase: ProbePhase) {
    super(steps);
    this.#variables = { ...variables };
    this.#phase = phase;
  }

  /** @throws ProbeError */
  filled(text: string): string {
    try {
      return render(text, this.#variables, 'raw');
    } catch (thrown) {
      if (!(thrown instanceof TemplateError)) throw thrown;
      throw new ProbeError('request-invalid', this.#phase, thrown.message);
    }
  }

  /** Whether a text is the one that a step expects; undefined where that would cost too much. @throws ProbeError */
  fits(step: Step, index: number, text: string): boolean | undefined {
    this.see(index, text);
    try {
      return text.includes(this.filled(step.text)) && this.#matches(step.regex, text);
    } catch (thrown) {
      if (!(thrown instanceof WorkExceeded)) throw thrown;
      this.#tooCostly = thrown.message;
      return undefined;
    }
  }

  /** The failure of a text that could not be judged. @param name of its step. */
  tooCostly(name: string): Failure | undefined {
    return this.#tooCostly === undefined
      ? undefined
      : failure('ASSERTION_TOO_COSTLY', `${name}: ${this.#tooCostly}`);
  }

  #matches(regex: string, text: string): boolean {
    if (regex === '') return true;
    const match = firstMatch(regex, text, this.budget) as RegExpExecArray | null;
    for (const [name, value] of Object.entries(match?.groups ?? {})) this.#variables[name] = value ?? '';
    return match !== null;
  }
}

/** What a step expected, and what came instead. */
export function expectedAndReceived({ text, regex }: TextStep, received: string): string {
  const wanted = [text === '' ? '' : shownValue(text), regex === '' ? '' : `/${regex}/`];
  const words = wanted.filter((word) => word !== '').join(' and ');
  return `expected ${words}, received ${shownValue(received)}`;
}
