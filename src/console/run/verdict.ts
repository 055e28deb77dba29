import { failureWords } from '@picket/checks/judging/failure-words.ts';
import type { CheckResult } from '@picket/protocol/results/check-result.ts';
import { duration } from '../elements/format.ts';
import type { State } from '../elements/state.ts';

/** The outcome of a run in one sentence, and what failed. */
export interface Verdict {
  readonly state: State;
  readonly word: string;
  readonly sentence: string;
  /** null if nothing failed. */
  readonly whatFailed: string | null;
  /** The full message of the probe, or the explanation in the failure catalogue. */
  readonly detail: string | null;
  /** The full message of the probe, if the sentence omits a part of it. */
  readonly wholeMessage: string | null;
  /** The explanation in the failure catalogue, if the sentence does not state it. */
  readonly meaning: string | null;
}

const nothingFailed = { whatFailed: null, detail: null, wholeMessage: null, meaning: null };

export function verdictOf(result: CheckResult): Verdict {
  const { failure } = result;
  const time = duration(result.responseTime);
  const ended = {
    state: result.hasErrors ? 'error' : 'failed',
    word: result.hasErrors ? 'Not judged' : 'Failed',
  } as const;
  if (failure) {
    const { sentence, whatFailed } = failure;
    const { wholeMessage, meaning } = failureWords(failure);
    return { ...ended, sentence, whatFailed, detail: wholeMessage ?? meaning, wholeMessage, meaning };
  }
  if (result.hasErrors || result.hasFailures) {
    return { ...nothingFailed, ...ended, sentence: 'The run did not pass.' };
  }
  if (result.isDegraded) {
    return {
      ...nothingFailed,
      ...{ state: 'degraded', word: 'Degraded', sentence: `Responded, but slowly: ${time}` },
    };
  }
  return { ...nothingFailed, state: 'passed', word: 'Passed', sentence: `Passed in ${time}` };
}
