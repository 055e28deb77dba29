import { stepInWords } from '@picket/checks/agentic/plan/plan.ts';
import type { PlanStep } from '@picket/checks/agentic/plan/step.ts';
import { type Failure, failure } from '@picket/checks/contract/failure.ts';
import type { ModelClient } from '@picket/checks/model/client.ts';
import { ModelError } from '@picket/checks/model/message.ts';
import { heal, type StepsOrder } from './heal.ts';
import { recordVerdict, unmetWords } from './verdicts.ts';

/** How often a run requests a replacement for a step from the model. */
const maxHealings = 3;

export interface Replay {
  /** The steps that were executed. */
  readonly steps: readonly PlanStep[];
  /** The model's descriptions of changes; empty if no request was made. */
  readonly healings: readonly string[];
  readonly failure?: Failure | undefined;
}

/**
 * Executes the steps of a plan unchanged, without a model. Only if the target of a step is missing on an otherwise
 * working page, it requests an alternative from the model. An assertion that does not hold is a failure, without any
 * request.
 */
export async function replay(
  order: StepsOrder & {
    /** Absent if it cannot be used; `unasked` then says why. */
    readonly model: ModelClient | undefined;
    readonly unasked: string;
  },
): Promise<Replay> {
  const { actor, model } = order;
  let steps = [...order.steps];
  const healings: string[] = [];
  const failed = (failure: Failure): Replay => ({ steps, healings, failure });
  for (let index = 0; index < steps.length; index += 1) {
    const step = steps[index];
    if (!step) break;
    order.signal.throwIfAborted();
    const end = await actor.do(step);
    recordVerdict(step, end, actor.record);
    if (end.kind === 'done' || (end.kind === 'verified' && end.passed)) continue;
    if (end.kind === 'verified') return failed(failure('ASSERTION_FAILED', unmetWords(step, end)));
    const what = `Step ${index + 1} (${stepInWords(step)}): ${end.text}`;
    if (end.kind === 'refused') return failed(failure('ORIGIN_NOT_ALLOWED', what));
    if (end.kind !== 'misfit') return failed(failure('STEP_FAILED', what));
    if ((actor.status ?? 0) >= 500) {
      return failed(failure('STEP_FAILED', `${what}; the page had loaded with status ${actor.status}`));
    }
    if (!model) return failed(failure('STEP_FAILED', `${what}; ${order.unasked}`));
    if (healings.length >= maxHealings) {
      return failed(failure('STEP_FAILED', `${what}; ${maxHealings} other steps were already replaced`));
    }
    try {
      const healing = await heal({ ...order, model, steps, index, reason: end.text });
      if ('problem' in healing) return failed(failure('STEP_FAILED', `${what}; ${healing.problem}`));
      if ('unmet' in healing) return failed(failure('ASSERTION_FAILED', healing.unmet));
      steps = [...steps.slice(0, index), ...healing.steps, ...steps.slice(healing.resumeAt)];
      healings.push(healing.summary);
      // The replacement steps are already executed.
      index += healing.steps.length - 1;
    } catch (thrown) {
      if (!(thrown instanceof ModelError)) throw thrown;
      return failed(failure('STEP_FAILED', `${what}; no replacement was found: ${thrown.message}`));
    }
  }
  return { steps, healings };
}
