import { FailureDetails } from '@picket/checks/contract/failure-details.ts';
import { detailsOfOlderAgent } from '@picket/checks/judging/older-agents.ts';
import { storedJson } from '../stored-json.ts';

const read = storedJson('results.failure_details', FailureDetails);

/** What is stored of a failure. */
export interface StoredFailure {
  readonly code: string | null;
  readonly message: string | null;
  /** As JSON; null where its agent did not report any. */
  readonly failure_details: string | null;
}

/** The facts of a stored failure; those of an older agent are read from its message. */
export function failureDetails({ code, message, failure_details: stored }: StoredFailure): FailureDetails {
  if (stored !== null) return read(stored);
  return code === null ? {} : detailsOfOlderAgent(code, message ?? '');
}
