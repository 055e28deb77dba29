import { firstMatch } from '@picket/lib/bounds/bounded-regex.ts';
import { WorkExceeded } from '@picket/lib/bounds/work-budget.ts';
import { ProbeError, type ProbePhase } from '@picket/probes/connection/errors.ts';
import { type Failure, failure } from '../contract/failure.ts';
import { render, TemplateError } from '../judging/templating.ts';
import { shownValue } from '../judging/verdict.ts';
import { StepRecord } from './step-record.ts';

/** A step that expects a text. */
export interface TextStep {
  /** A template whose text must occur in the received text. */
  readonly text: string;
  /** A regular expression that must match; empty: anything. */
  readonly regex: string;
}

/** Steps that expect texts: matches received texts and captures values for later steps. */
export class TextSteps<Step extends TextStep> extends StepRecord<Step, string> {
  readonly #variables: Record<string, string>;
  readonly #phase: ProbePhase;
  /** Why evaluating a text was too costly. */
  #tooCostly: string | undefined;

  /** @param variables for templates; steps add their captured values. @param phase in which steps are sent. */
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

  /** Whether a text is the one that a step expects; undefined if evaluating it is too costly. @throws ProbeError */
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

  /** Returns the failure if evaluating a text was too costly. @param name of its step. */
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

/** Describes the text that a step expected, and the received one. */
export function expectedAndReceived({ text, regex }: TextStep, received: string): string {
  const wanted = [text === '' ? '' : shownValue(text), regex === '' ? '' : `/${regex}/`];
  const words = wanted.filter((word) => word !== '').join(' and ');
  return `expected ${words}, received ${shownValue(received)}`;
}
