import { FailureDetails } from '@picket/checks/contract/failure-details.ts';
import { detailsOfOlderAgent } from '@picket/checks/judging/older-agents.ts';
import { storedJson } from '../stored-json.ts';

const read = storedJson('results.failure_details', FailureDetails);

/** Stored columns of a failure. */
export interface StoredFailure {
  readonly code: string | null;
  readonly message: string | null;
  /** JSON; null if the agent reported none. */
  readonly failure_details: string | null;
}

/** Returns the facts of a stored failure; those of an older agent are parsed from its message. */
export function failureDetails({ code, message, failure_details: stored }: StoredFailure): FailureDetails {
  if (stored !== null) return read(stored);
  return code === null ? {} : detailsOfOlderAgent(code, message ?? '');
}
