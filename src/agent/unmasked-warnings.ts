import type { Logger } from '../lib/log.ts';
import { isMaskable, minSecretLength } from './scrub/secret-finder.ts';

const maxNames = 1000;

/** Warns of secret variables that cannot be masked in results, once for each name. */
export class UnmaskedWarnings {
  readonly #log: Logger;
  readonly #told = new Set<string>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Warns of those whose values are too short. */
  warnOfShort(secrets: Readonly<Record<string, string>>): void {
    this.warn(Object.keys(secrets).filter((name) => !isMaskable(secrets[name] ?? '')));
  }

  warn(names: readonly string[]): void {
    for (const name of names) {
      if (this.#told.has(name) || this.#told.size > maxNames) continue;
      this.#told.add(name);
      this.#log.warn(
        { variable: name },
        `a secret variable is not masked in results: its value is shorter than ${minSecretLength} characters or too common`,
      );
    }
  }
}
