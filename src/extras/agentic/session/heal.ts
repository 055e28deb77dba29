import { isVerifying, type PlanStep } from '@picket/checks/agentic/plan/step.ts';
import type { ModelClient } from '@picket/checks/model/client.ts';
import type { Actor } from './actor.ts';
import { answerTo, readCall, stepOf, wrongWith } from './calls.ts';
import { type CallEnd, converse } from './conversation.ts';
import type { Placeholders } from './placeholders.ts';
import { recordVerdict, unmetWords } from './verdicts.ts';
import { GiveUp, healSystem, healTools, numbered, Resume, taskWords, untrusted } from './words.ts';

const maxTurns = 20;
const maxNewSteps = 15;

/** Steps of a plan to execute, with their page and their limits. */
export interface StepsOrder {
  readonly actor: Actor;
  readonly placeholders: Placeholders;
  readonly prompt: string;
  readonly origins: readonly string[];
  readonly skills: readonly string[];
  readonly steps: readonly PlanStep[];
  readonly signal: AbortSignal;
}

/** Replacement of steps that no longer fit, or the reason why there is no replacement. */
export type Healing =
  | { readonly steps: readonly PlanStep[]; readonly resumeAt: number; readonly summary: string }
  /** The subject of the check is present, but its assertion does not hold. */
  | { readonly unmet: string }
  | { readonly problem: string };

/**
 * Has the model replace the step at `index`. Assertions stay as they are: no verifying step can be left out, and one
 * that does not fit keeps its comparison and its value. So a page that is broken, or addresses the model, cannot make a
 * check pass that would have failed.
 *
 * @throws ModelError
 */
export async function heal(
  order: StepsOrder & { readonly model: ModelClient; readonly index: number; readonly reason: string },
): Promise<Healing> {
  const { actor, placeholders, steps, index } = order;
  const misfit = steps[index];
  const fresh: PlanStep[] = [];
  const task = [
    taskWords(order),
    `The steps of the check:\n${numbered(steps)}`,
    `Steps before ${index + 1} are done. Step ${index + 1} does not match: ${untrusted(order.reason)}`,
    `Current page:\n${untrusted(await actor.snapshot())}`,
  ].join('\n\n');
  return await converse<Healing>({
    ...order,
    record: actor.record,
    system: healSystem,
    task,
    tools: healTools,
    maxTurns,
    call: async (call): Promise<CallEnd<Healing> | { readonly malformed: string }> => {
      const read = await readCall(call, actor);
      if (read) return read;
      if (call.name === 'give_up') {
        const parsed = GiveUp.safeParse(call.input);
        return parsed.success ? { end: { problem: parsed.data.because } } : wrongWith(parsed.error);
      }
      if (call.name === 'resume') {
        const parsed = Resume.safeParse(call.input);
        if (!parsed.success) return wrongWith(parsed.error);
        const { step: number, summary } = parsed.data;
        const wrong = whyNotResume(steps, index, number - 1, fresh);
        return wrong === undefined
          ? { end: { steps: fresh, resumeAt: number - 1, summary } }
          : { text: wrong };
      }
      const step = stepOf(call, placeholders);
      if ('malformed' in step) return step;
      if (isVerifying(step) && !(misfit && takesPlaceOf(step, misfit))) {
        return {
          text: 'Rejected: assertions must stay the same. You may only change the target of the assert that does not match.',
        };
      }
      if (fresh.length >= maxNewSteps)
        return { end: { problem: `no replacement was found within ${maxNewSteps} steps` } };
      const end = await actor.do(step);
      if (end.kind === 'ended') return { end: { problem: end.text } };
      recordVerdict(step, end, actor.record);
      if (end.kind === 'verified' && !end.passed) return { end: { unmet: unmetWords(step, end) } };
      if (end.kind === 'done' || end.kind === 'verified') fresh.push(step);
      return { text: await answerTo(step, end, actor) };
    },
  });
}

/** Whether an assertion verifies the same as the misfit, for another target. */
export function takesPlaceOf(step: PlanStep, misfit: PlanStep): boolean {
  if (step.tool !== 'assert' || misfit.tool !== 'assert') return false;
  const { subject, comparison, expected, property } = misfit.input;
  const { input } = step;
  return (
    input.subject === subject &&
    input.comparison === comparison &&
    input.expected === expected &&
    input.property === property
  );
}

/** Why the run cannot resume at that step; undefined if it can. */
export function whyNotResume(
  steps: readonly PlanStep[],
  index: number,
  resumeAt: number,
  fresh: readonly PlanStep[],
): string | undefined {
  if (resumeAt < index || resumeAt > steps.length) {
    return `Rejected: the next step must be from ${index + 1} to ${steps.length + 1}.`;
  }
  const isReplaced = (step: PlanStep) => fresh.some((one) => takesPlaceOf(one, step));
  const skipped = steps.slice(index, resumeAt).filter((step) => isVerifying(step) && !isReplaced(step));
  if (skipped.length > 0) return 'Rejected: this would skip a step that verifies something.';
  if (resumeAt === index && fresh.length === 0)
    return 'Rejected: nothing has changed, and the step did not match.';
  return undefined;
}
