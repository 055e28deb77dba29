import { z } from 'zod';

/** What a question and its answer took; `isEstimated` where the provider did not say it all. */
export interface CountedTokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly isEstimated: boolean;
}

/** What crossed the network, in bytes, and the most tokens that the answer was to have. */
export interface Exchange {
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly maxAnswerTokens: number;
}

/** English has four bytes and more for a token, JSON and most other languages about three: budgets rather end too early. */
const bytesPerToken = 3;
/** What a provider may add to a question: instructions of its own for tools. */
const addedTokens = 20_000;

/** A count as a provider says it, whatever it says: 0 for what is no count. */
export const ReportedTokens = z
  .unknown()
  .optional()
  .transform((said) => (typeof said === 'number' && Number.isSafeInteger(said) && said > 0 ? said : 0));

/**
 * What a provider says, and an estimate from what was sent and received where it says nothing, or more than can be: no token is
 * shorter than a byte.
 */
export function countTokens(
  said: { readonly inputTokens: number; readonly outputTokens: number } | undefined,
  { sentBytes, receivedBytes, maxAnswerTokens }: Exchange,
): CountedTokens {
  const input = counted(said?.inputTokens, sentBytes + addedTokens);
  const output = counted(said?.outputTokens, Math.max(maxAnswerTokens, receivedBytes));
  return {
    inputTokens: input ?? estimate(sentBytes),
    outputTokens: output ?? estimate(receivedBytes),
    isEstimated: input === undefined || output === undefined,
  };
}

function counted(said: number | undefined, most: number): number | undefined {
  return said !== undefined && said > 0 && said <= most ? said : undefined;
}

function estimate(bytes: number): number {
  return Math.ceil(bytes / bytesPerToken);
}
