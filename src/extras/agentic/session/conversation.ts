import type { ModelClient } from '@picket/checks/model/client.ts';
import {
  type ModelCall,
  ModelError,
  type ModelMessage,
  type ModelTool,
} from '@picket/checks/model/message.ts';
import type { SessionRecord } from './record.ts';

const maxAnswerTokens = 4096;
/** Results before the last ones are shortened: earlier states of the page no longer matter. */
const wholeResults = 3;
const shortLength = 600;
const maxMalformed = 6;
const maxSilences = 2;
const maxRepetitions = 4;

/** Result of a call: a text for the model, or the end of the conversation. */
export type CallEnd<End> = { readonly text: string } | { readonly end: End };

/**
 * A conversation in which a model calls tools, until one of them ends it. It ends whatever the model does: by the
 * number of turns, malformed calls, silence, or repetition of the same call with the same input.
 */
export async function converse<End>(order: {
  readonly model: ModelClient;
  readonly system: string;
  readonly task: string;
  readonly tools: readonly ModelTool[];
  readonly maxTurns: number;
  readonly record: SessionRecord;
  readonly signal: AbortSignal;
  /** Handles a call; `malformed` describes the problems of its input. */
  readonly call: (call: ModelCall) => Promise<CallEnd<End> | { readonly malformed: string }>;
}): Promise<End> {
  const { model, system, tools, record, signal } = order;
  const messages: ModelMessage[] = [{ role: 'user', text: order.task }];
  let malformedCount = 0;
  let silenceCount = 0;
  let last = { call: '', count: 0 };
  for (let turn = 0; turn < order.maxTurns; turn += 1) {
    const answer = await model.ask({ system, messages: shortened(messages), tools, maxAnswerTokens }, signal);
    record.message(answer.text);
    messages.push({ role: 'assistant', text: answer.text, calls: answer.calls });
    if (answer.calls.length === 0) {
      silenceCount += 1;
      if (silenceCount > maxSilences) {
        throw new ModelError('MODEL_ANSWER_INVALID', 'The model calls no tool despite repeated requests.');
      }
      messages.push({ role: 'user', text: 'Call a tool. Text alone has no effect.' });
      continue;
    }
    const results = [];
    for (const call of answer.calls) {
      signal.throwIfAborted();
      const done = await order.call(call);
      if ('end' in done) return done.end;
      const isMalformed = 'malformed' in done;
      if (isMalformed) malformedCount += 1;
      if (malformedCount > maxMalformed) {
        const message = `The model makes invalid tool calls: ${isMalformed ? done.malformed : ''}`;
        throw new ModelError('MODEL_ANSWER_INVALID', message);
      }
      const written = JSON.stringify([call.name, call.input]);
      last = written === last.call ? { call: written, count: last.count + 1 } : { call: written, count: 1 };
      if (last.count > maxRepetitions) {
        throw new ModelError(
          'MODEL_ANSWER_INVALID',
          `The model calls ${call.name} repeatedly with the same input.`,
        );
      }
      const text = isMalformed ? `Invalid call: ${done.malformed}` : done.text;
      results.push({ callId: call.id, name: call.name, text });
    }
    messages.push({ role: 'tool', results });
  }
  throw new ModelError('MODEL_LIMIT_EXCEEDED', `The model did not finish within ${order.maxTurns} turns.`);
}

function shortened(messages: readonly ModelMessage[]): ModelMessage[] {
  const places = messages.flatMap(({ role }, index) => (role === 'tool' ? [index] : []));
  const from = places.at(-wholeResults) ?? 0;
  return messages.map((message, index) => {
    if (message.role !== 'tool' || index >= from) return message;
    const results = message.results.map(({ text, ...result }) => ({
      ...result,
      text: text.length > shortLength ? `${text.slice(0, shortLength)}… (shortened)` : text,
    }));
    return { ...message, results };
  });
}
