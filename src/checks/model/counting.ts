import type { ModelAnswer } from './message.ts';

/** What a question and its answer took; `isEstimated` where the provider did not say it all. */
export interface CountedTokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly isEstimated: boolean;
}

/** English has four bytes and more for a token, JSON and most other languages about three: budgets rather end too early. */
const bytesPerToken = 3;

/** What a provider says, and an estimate from what was sent and received where it says nothing. */
export function countTokens(
  said: Pick<ModelAnswer, 'inputTokens' | 'outputTokens'> | undefined,
  sent: string,
  received: string,
): CountedTokens {
  const { inputTokens = 0, outputTokens = 0 } = said ?? {};
  return {
    inputTokens: inputTokens > 0 ? inputTokens : estimate(sent),
    outputTokens: outputTokens > 0 ? outputTokens : estimate(received),
    isEstimated: inputTokens <= 0 || outputTokens <= 0,
  };
}

function estimate(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken);
}
