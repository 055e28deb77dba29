import { PlanStep, stepInputs } from '@picket/checks/agentic/plan/step.ts';
import type { ModelCall } from '@picket/checks/model/message.ts';
import type { z } from 'zod';
import type { Actor, StepEnd } from './actor.ts';
import { verdictWords } from './actor.ts';
import type { CallEnd } from './conversation.ts';
import type { Placeholders } from './placeholders.ts';
import { readInputs, untrusted } from './words.ts';

/** Tools that may change the page: their results include it. */
const changing: ReadonlySet<string> = new Set([
  'open',
  'click',
  'select',
  'check',
  'press',
  'upload',
  'tab',
  'fill',
]);

type Malformed = { readonly malformed: string };

/** Problems of an input, in a sentence. */
export function wrongWith(error: z.ZodError): Malformed {
  const problems = error.issues
    .slice(0, 5)
    .map(({ path, message }) => `${path.join('.') || 'input'}: ${message}`);
  return { malformed: problems.join('; ') };
}

/** Converts a call to the step that it requests; otherwise returns the problems. */
export function stepOf(call: ModelCall, placeholders: Placeholders): PlanStep | Malformed {
  if (!Object.hasOwn(stepInputs(), call.name))
    return { malformed: `no such tool: ${JSON.stringify(call.name)}` };
  const parsed = PlanStep.safeParse({ tool: call.name, input: call.input ?? {} });
  if (!parsed.success) return wrongWith(parsed.error);
  const unknown = placeholders.unknownIn(JSON.stringify(parsed.data.input));
  if (unknown.length > 0) return { malformed: `the task does not name the variable ${unknown.join(', ')}` };
  return parsed.data;
}

/** Handles a call that only reads; undefined for other calls. */
export async function readCall(
  call: ModelCall,
  actor: Actor,
): Promise<CallEnd<never> | Malformed | undefined> {
  const { record } = actor;
  if (call.name === 'snapshot') {
    record.call(call.name, {});
    const text = await actor.snapshot();
    record.result(call.name, text);
    return { text: untrusted(text) };
  }
  if (call.name !== 'read') return undefined;
  const parsed = readInputs.read.safeParse(call.input ?? {});
  if (!parsed.success) return wrongWith(parsed.error);
  record.call(call.name, parsed.data);
  const text = await actor.read(parsed.data.target);
  record.result(call.name, text);
  return { text: untrusted(text) };
}

/** Reply to the model after a step. */
export async function answerTo(step: PlanStep, end: StepEnd, actor: Actor): Promise<string> {
  if (end.kind === 'verified') return untrusted(verdictWords(end));
  const problem = end.kind === 'done' ? '' : `The step failed (${end.kind}). `;
  const text = `${problem}${untrusted(end.text)}`;
  if (end.kind !== 'done' || !changing.has(step.tool) || step.tool === 'fill') return text;
  return `${text}\nCurrent page:\n${untrusted(await actor.snapshot())}`;
}
