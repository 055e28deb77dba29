import type { FailureOwner } from '../../../checks/contract/failure.ts';
import type { CheckResult } from '../../../protocol/results/check-result.ts';
import { causeOf } from '../elements/cause.ts';
import { duration } from '../elements/format.ts';
import type { State } from '../elements/state.ts';

/** What a run came to, in one sentence, and whose fault it is. */
export interface Verdict {
  readonly state: State;
  readonly word: string;
  readonly sentence: string;
  /** Who has to do something; null when nobody has. */
  readonly owner: string | null;
  /** The same as the probe put it, or as the catalogue of failures explains it. */
  readonly detail: string | null;
}

const owners: Readonly<Record<FailureOwner, string>> = {
  target: 'The target',
  location: 'The location, not the target',
  agent: "Picket's agent, not the target",
  config: 'The definition of the check, not the target',
};

export function verdictOf(result: CheckResult): Verdict {
  const { failure } = result;
  const time = duration(result.responseTime);
  if (failure) {
    const cause = causeOf(failure.code, failure.message);
    const owner = failure.owner in owners ? owners[failure.owner as FailureOwner] : failure.owner;
    return {
      state: result.hasErrors ? 'error' : 'failed',
      word: result.hasErrors ? 'Not judged' : 'Failed',
      sentence: cause.words,
      owner,
      detail: cause.detail,
    };
  }
  if (result.hasErrors || result.hasFailures) {
    return {
      state: result.hasErrors ? 'error' : 'failed',
      word: result.hasErrors ? 'Not judged' : 'Failed',
      sentence: 'The run did not pass.',
      owner: null,
      detail: null,
    };
  }
  const passed = { owner: null, detail: null };
  if (result.isDegraded) {
    return { ...passed, state: 'degraded', word: 'Degraded', sentence: `Answered, but only after ${time}` };
  }
  return { ...passed, state: 'passed', word: 'Passed', sentence: `Passed in ${time}` };
}
