import { failureCatalogue, isFailureCode } from '../../../checks/contract/failure.ts';

/** Why a run did not pass: in words, and as the probe put it. */
export interface Cause {
  readonly words: string;
  readonly detail: string | null;
}

/**
 * The cause of a failure. What the system says of a broken connection ("connect ECONNREFUSED") is detail, and
 * the catalogue has the words; what an assertion, a status or a script says is clearer than its catalogue.
 */
export function causeOf(code: string | null, message: string | null): Cause {
  const entry = code !== null && isFailureCode(code) ? failureCatalogue[code] : undefined;
  const meaning = entry?.meaning.replace(/\.$/, '') ?? null;
  const said = message === null || message.trim() === '' ? null : message;
  if (said === null) return { words: meaning ?? 'It did not pass', detail: null };
  if (meaning === null) return { words: said, detail: null };
  return entry?.isNetworkError ? { words: meaning, detail: said } : { words: said, detail: meaning };
}
