import { toError } from '../../lib/errors.ts';
import { JsonTooLarge, parseJson } from '../../lib/json/json-document.ts';
import type { ConversationStep, StepOutcome, Taken } from '../../probes/websocket/steps.ts';
import { type Failure, failure, reworded } from '../contract/failure.ts';
import { toMicroseconds } from '../contract/outcome.ts';
import { type Assertion, type EvaluatedAssertion, failureCode } from '../judging/assertion.ts';
import { assertionBudget, evaluateAssertions, type Sources } from '../judging/evaluate.ts';
import { shownValue } from '../judging/verdict.ts';
import type { WebSocketDetail } from './detail.ts';
import { usualStepTimeoutMs, type WebSocketStep } from './spec.ts';

/** A step whose templates are filled in. */
export interface PreparedStep {
  readonly type: WebSocketStep['type'];
  readonly data: Buffer;
  readonly isBinary: boolean;
  readonly assertions: readonly Assertion[];
  readonly skipOthers: boolean;
  readonly timeoutMs: number | null;
}

interface Message {
  readonly data: Buffer;
  readonly isText: boolean;
}

/** The text of a message; base64 of a binary one. */
export function textOf({ data, isText }: Message): string {
  return data.toString(isText ? 'utf8' : 'base64');
}

/** The steps of one run: what the probe does, and what is found out by that. */
export class StepCourse {
  readonly #steps: readonly PreparedStep[];
  /** What was found in the last message that each step looked at. */
  readonly #evaluated = new Map<number, EvaluatedAssertion[]>();
  readonly #skipped = new Map<number, number>();
  readonly #budget = assertionBudget();

  constructor(steps: readonly PreparedStep[]) {
    this.#steps = steps;
  }

  /** For the probe. */
  get conversation(): ConversationStep[] {
    return this.#steps.map((step, index): ConversationStep => {
      const timeoutMs = step.timeoutMs ?? usualStepTimeoutMs;
      if (step.type === 'SEND') {
        return { kind: 'send', message: { data: step.data, isText: !step.isBinary } };
      }
      if (step.type === 'EXPECT_CLOSE') return { kind: 'expect-close', timeoutMs };
      return { kind: 'expect', timeoutMs, take: (message) => this.#take(step, index, message) };
    });
  }

  #take(step: PreparedStep, index: number, message: Message): Taken {
    const evaluated = evaluateAssertions(step.assertions, sourcesOf(message), this.#budget);
    this.#evaluated.set(index, evaluated);
    const wrong = evaluated.filter(({ error }) => error !== null);
    if (wrong.length === 0) return 'taken';
    const isUnusable = wrong.some((one) => (one[failureCode] ?? 'ASSERTION_FAILED') !== 'ASSERTION_FAILED');
    if (isUnusable || !step.skipOthers) return 'refused';
    this.#skipped.set(index, (this.#skipped.get(index) ?? 0) + 1);
    return 'passed-over';
  }

  /** What became of each step. */
  detail(outcomes: readonly StepOutcome[]): WebSocketDetail['steps'] {
    return this.#steps.map(({ type }, index) => {
      const outcome = outcomes[index];
      return {
        type,
        state: outcome ? (outcome.isDone ? 'DONE' : 'FAILED') : 'NOT_REACHED',
        waitMs: toMicroseconds(outcome?.waitMs ?? 0),
        assertions: this.#evaluated.get(index) ?? [],
        skippedCount: this.#skipped.get(index) ?? 0,
      };
    });
  }

  /** The failure of the step that failed, with what went wrong on its connection, if that did. */
  failure(outcomes: readonly StepOutcome[], met: Failure | undefined): Failure | undefined {
    const index = outcomes.findIndex(({ isDone }) => !isDone);
    const step = this.#steps[index];
    if (!step) return met;
    const name = `Step ${index + 1} (${step.type})`;
    const wrong = this.#evaluated.get(index)?.find(({ error }) => error !== null);
    if (met) {
      const count = this.#skipped.get(index) ?? 0;
      const others =
        count === 0 || !wrong
          ? ''
          : `; ${count === 1 ? '1 message' : `${count} messages`} did not fit, the last one: ${reasonOf(wrong)}`;
      return reworded(met, `${name}: ${met.message}${others}`);
    }
    if (!wrong) return undefined;
    const code = wrong[failureCode] ?? 'ASSERTION_FAILED';
    if (code === 'ASSERTION_FAILED') return failure('DIALOGUE_FAILED', `${name}: ${reasonOf(wrong)}`);
    return failure(code, `${name} cannot be evaluated: ${wrong.error}`);
  }
}

function reasonOf({ source, property, comparison, target, actual, error }: EvaluatedAssertion): string {
  const words = [source, property, comparison, String(target)].filter((word) => word !== '').join(' ');
  return `expected ${words}, ${actual === null ? error : `received ${shownValue(actual)}`}`;
}

function sourcesOf(message: Message): Sources {
  return {
    TEXT_BODY: () => ({ kind: 'text', text: textOf(message) }),
    JSON_BODY: () => {
      if (!message.isText) return { kind: 'unavailable', reason: 'the message is binary, not JSON' };
      try {
        return { kind: 'json', document: parseJson(textOf(message)) };
      } catch (thrown) {
        const reason = `the message is not JSON: ${toError(thrown).message}`;
        if (thrown instanceof JsonTooLarge)
          return { kind: 'unavailable', reason, code: 'ASSERTION_TOO_COSTLY' };
        return { kind: 'unavailable', reason };
      }
    },
  };
}
