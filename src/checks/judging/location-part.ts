import { type FailureCode, failureCatalogue, isFailureCode } from '../contract/failure.ts';
import { networkFailureIn } from '../foreign-texts/network.ts';

/**
 * Which part of the location can bring a failure about where the target is well; null where none can: the
 * content of an answer is never a location's.
 */
export function locationPart(code: FailureCode, message: string): 'resolver' | 'network' | null {
  const fromLocation = partOf(code);
  if (fromLocation !== 'if-named') return fromLocation ?? null;
  return networkFailureIn(message)?.part ?? null;
}

/** Whether what the network did is known by the message of a failure alone, as of scripts. */
export function isNamedByMessage(code: string): boolean {
  return isFailureCode(code) && partOf(code) === 'if-named';
}

function partOf(code: FailureCode) {
  const entry = failureCatalogue[code];
  return 'fromLocation' in entry ? entry.fromLocation : undefined;
}
