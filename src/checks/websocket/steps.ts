import { toError } from '@picket/lib/errors.ts';
import { JsonTooLarge, parseJson } from '@picket/lib/json/json-document.ts';
import type { Acceptance, StepOutcome } from '@picket/probes/steps/steps.ts';
import type { ConversationStep } from '@picket/probes/websocket/steps.ts';
import { type Failure, failure, reworded } from '../contract/failure.ts';
import { type Assertion, type EvaluatedAssertion, failureCode } from '../judging/assertion.ts';
import { evaluateAssertions, type Sources } from '../judging/evaluate.ts';
import { shownValue } from '../judging/verdict.ts';
import { usualStepTimeoutMs } from '../steps/fields.ts';
import { StepRecord, stateOf } from '../steps/step-record.ts';
import type { WebSocketDetail } from './detail.ts';
import type { WebSocketStep } from './spec.ts';

/** A step with its templates filled in. */
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

/** Returns the text of a message; base64 for a binary one. */
export function textOf({ data, isText }: Message): string {
  return data.toString(isText ? 'utf8' : 'base64');
}

/** The steps of one run over messages; they record the evaluated assertions of each message. */
export class MessageSteps extends StepRecord<PreparedStep, EvaluatedAssertion[]> {
  /** For the probe. */
  get conversation(): ConversationStep[] {
    return this.steps.map((step, index): ConversationStep => {
      const timeoutMs = step.timeoutMs ?? usualStepTimeoutMs;
      if (step.type === 'SEND') {
        return { kind: 'send', message: { data: step.data, isText: !step.isBinary } };
      }
      if (step.type === 'EXPECT_CLOSE') return { kind: 'expect-close', timeoutMs };
      return { kind: 'expect', timeoutMs, take: (message) => this.#acceptMessage(step, index, message) };
    });
  }

  #acceptMessage(step: PreparedStep, index: number, message: Message): Acceptance {
    const evaluated = evaluateAssertions(step.assertions, sourcesOf(message), this.budget);
    this.see(index, evaluated);
    const wrong = evaluated.filter(({ error }) => error !== null);
    if (wrong.length === 0) return 'taken';
    const isUnusable = wrong.some((one) => (one[failureCode] ?? 'ASSERTION_FAILED') !== 'ASSERTION_FAILED');
    if (isUnusable || !step.skipOthers) return 'refused';
    this.skip(index);
    return 'passed-over';
  }

  /** Details of each step. */
  detail(outcomes: readonly StepOutcome[]): WebSocketDetail['steps'] {
    return this.all(outcomes).map(({ step: { type }, outcome, seen, skippedCount }) => ({
      type,
      ...stateOf(outcome),
      assertions: seen ?? [],
      skippedCount,
    }));
  }

  /** Returns the failure of the failed step, together with that of its connection, if any. */
  failure(outcomes: readonly StepOutcome[], met: Failure | undefined): Failure | undefined {
    const failed = this.failed(outcomes);
    if (!failed) return met;
    const { step, index, seen, skippedCount: count } = failed;
    const name = `Step ${index + 1} (${step.type})`;
    const wrong = seen?.find(({ error }) => error !== null);
    if (met) {
      const others =
        count === 0 || !wrong
          ? ''
          : `; ${count === 1 ? '1 message' : `${count} messages`} did not match, the last one: ${reasonOf(wrong)}`;
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
