import { z } from 'zod';

/** Tokens of a request and its response; `isEstimated` if the provider did not report all of them. */
export interface CountedTokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly isEstimated: boolean;
}

/** Bytes that crossed the network, and the limit of output tokens. */
export interface Exchange {
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly maxAnswerTokens: number;
}

/**
 * English has four bytes and more per token, JSON and most other languages about three: budgets should be exhausted
 * early rather than late.
 */
const bytesPerToken = 3;
/** Tokens that a provider may add to a request: instructions of its own for tools. */
const addedTokens = 20_000;

/** A count as a provider reports it: 0 if it is not a valid count. */
export const ReportedTokens = z
  .unknown()
  .optional()
  .transform((said) => (typeof said === 'number' && Number.isSafeInteger(said) && said > 0 ? said : 0));

/**
 * Counts tokens as the provider reports them, or estimates them from the bytes sent and received if the provider
 * reports none, or more than is possible: no token is shorter than a byte.
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
