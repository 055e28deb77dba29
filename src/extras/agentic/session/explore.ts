import type { AgenticDetail } from '@picket/checks/agentic/detail.ts';
import { maxPlanSteps } from '@picket/checks/agentic/plan/plan.ts';
import { type AssertStep, isVerifying, type PlanStep } from '@picket/checks/agentic/plan/step.ts';
import type { ModelClient } from '@picket/checks/model/client.ts';
import { ModelError } from '@picket/checks/model/message.ts';
import type { Actor } from './actor.ts';
import { answerTo, readCall, stepOf, wrongWith } from './calls.ts';
import { converse } from './conversation.ts';
import type { Placeholders } from './placeholders.ts';
import { wantedWords } from './verdicts.ts';
import { exploreSystem, exploreTools, Finish, taskWords } from './words.ts';

const maxTurns = 60;
const maxUnfinished = 3;

/** Result of a search for steps. */
export interface Exploration {
  readonly steps: readonly PlanStep[];
  readonly summary: string;
  readonly suggestions: AgenticDetail['suggestions'];
  /** Why the model could not do what the prompt requests. */
  readonly problem?: string | undefined;
}

/**
 * Has the model find the steps of a prompt. The search is complete only if code confirms that some step verifies
 * something, that steps contain every text in double quotes, and that no failed assertion is left open.
 *
 * @throws ModelError
 */
export async function explore(order: {
  readonly model: ModelClient;
  readonly actor: Actor;
  readonly placeholders: Placeholders;
  readonly prompt: string;
  readonly origins: readonly string[];
  readonly skills: readonly string[];
  readonly signal: AbortSignal;
}): Promise<Exploration> {
  const { actor, placeholders, prompt } = order;
  const { record } = actor;
  const steps: PlanStep[] = [];
  const open = new OpenAssertions();
  let unfinishedCount = 0;
  return await converse<Exploration>({
    ...order,
    record,
    system: exploreSystem,
    task: taskWords(order),
    tools: exploreTools,
    maxTurns,
    call: async (call) => {
      const read = await readCall(call, actor);
      if (read) return read;
      if (call.name === 'finish') {
        const parsed = Finish.safeParse(call.input);
        if (!parsed.success) return wrongWith(parsed.error);
        const { isDone, summary } = parsed.data;
        const suggestions = parsed.data.suggestions.map(
          ({ prompt: part, promptReplacement, ...suggestion }) => ({
            ...suggestion,
            prompt: part ?? null,
            promptReplacement: promptReplacement ?? null,
          }),
        );
        const end = { steps, summary, suggestions };
        if (!isDone) return { end: { ...end, problem: summary } };
        const missing = open.failedCount > 0 ? undefined : whatIsMissing(prompt, steps);
        if (missing === undefined) return { end };
        unfinishedCount += 1;
        if (unfinishedCount > maxUnfinished) {
          throw new ModelError(
            'MODEL_ANSWER_INVALID',
            `The model finished without completing the task: ${missing}`,
          );
        }
        return { text: `Not finished: ${missing}` };
      }
      const step = stepOf(call, placeholders);
      if ('malformed' in step) return step;
      if (steps.length >= maxPlanSteps) {
        throw new ModelError('MODEL_LIMIT_EXCEEDED', `The model needed more than ${maxPlanSteps} steps.`);
      }
      const end = await actor.do(step);
      if (end.kind === 'ended')
        return { end: { steps, summary: end.text, suggestions: [], problem: end.text } };
      if (step.tool === 'assert' || step.tool === 'judge') {
        const passed = end.kind === 'verified' && end.passed;
        const actual = end.kind === 'verified' ? end.actual : null;
        if (step.tool === 'assert') open.take(step, { passed, actual });
        else open.judged(step.input.question, { passed, actual });
        if (passed) steps.push(step);
        record.assertions.splice(0, record.assertions.length, ...open.all);
      } else if (end.kind === 'done') steps.push(step);
      return { text: await answerTo(step, end, actor) };
    },
  });
}

type Found = { readonly passed: boolean; readonly actual: string | null };

/**
 * Assertions and their results. A failed one stays failed until the same comparison with the same value holds: a model
 * that reads the page must not be able to try until some assertion passes.
 */
class OpenAssertions {
  readonly #all = new Map<string, AgenticDetail['assertions'][number]>();

  get all() {
    return [...this.#all.values()];
  }

  get failedCount(): number {
    return this.all.filter(({ passed }) => !passed).length;
  }

  take(step: AssertStep, { passed, actual }: Found): void {
    const { input } = step;
    const { condition, comparison, expected } = input;
    const key = JSON.stringify([comparison, expected]);
    const shown = wantedWords(step);
    // If one with the same value already holds, this is an additional assertion.
    const isTaken = this.#all.get(key)?.passed === true;
    this.#all.set(isTaken ? JSON.stringify(input) : key, { condition, passed, actual, expected: shown });
  }

  judged(question: string, { passed, actual }: Found): void {
    this.#all.set(question, { condition: question, passed, actual, expected: null });
  }
}

/** Why steps do not cover the prompt, as far as code can tell; undefined if they do. */
export function whatIsMissing(prompt: string, steps: readonly PlanStep[]): string | undefined {
  if (!steps.some(isVerifying)) return 'nothing was verified. Assert what the task requires.';
  const texts = steps.flatMap(({ input }) => textsIn(input)).map((text) => text.toLowerCase());
  const quoted = [...prompt.matchAll(/"([^"\n]{1,200})"|“([^”\n]{1,200})”/g)].map(
    ([, plain, curly]) => plain ?? curly ?? '',
  );
  const missing = quoted.filter((text) => !texts.some((one) => one.includes(text.trim().toLowerCase())));
  if (missing.length === 0) return undefined;
  return `no step uses or verifies ${missing.map((text) => JSON.stringify(text)).join(', ')}, quoted in the task.`;
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}
