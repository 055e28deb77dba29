import { type FailureCode, failureCatalogue, isFailureCode } from '../contract/failure.ts';
import { networkFailureIn } from '../foreign-texts/network.ts';

/**
 * Returns the part of the location that can cause a failure of a healthy target; null if no part can: the location
 * never causes a failure by content.
 */
export function locationPart(code: FailureCode, message: string): 'resolver' | 'network' | null {
  const fromLocation = partOf(code);
  if (fromLocation !== 'if-named') return fromLocation ?? null;
  return networkFailureIn(message)?.part ?? null;
}

/** Whether only the message of a failure, such as that of a script, shows the network error. */
export function isNamedByMessage(code: string): boolean {
  return isFailureCode(code) && partOf(code) === 'if-named';
}

function partOf(code: FailureCode) {
  const entry = failureCatalogue[code];
  return 'fromLocation' in entry ? entry.fromLocation : undefined;
}
