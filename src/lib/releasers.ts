import { toError } from './errors.ts';

/**
 * What was acquired, to be released in reverse order. Push a releaser right after acquiring; `release()` runs
 * them all, last first, even when one throws. One error is thrown as it is, several as an AggregateError.
 * Releasing twice is a bug in the caller and throws.
 */
export class Releasers {
  readonly #stack: { readonly name: string; readonly release: () => unknown }[] = [];
  #isReleased = false;

  push(name: string, release: () => unknown): void {
    if (this.#isReleased) throw new Error(`releaser "${name}" was pushed after the release`);
    this.#stack.push({ name, release });
  }

  async release(): Promise<void> {
    if (this.#isReleased) throw new Error('released twice');
    this.#isReleased = true;
    const errors: Error[] = [];
    for (const { name, release } of this.#stack.reverse()) {
      try {
        await release();
      } catch (thrown) {
        errors.push(new Error(`releasing ${name}: ${toError(thrown).message}`, { cause: thrown }));
      }
    }
    if (errors.length === 1) throw errors[0];
    if (errors.length > 1) throw new AggregateError(errors, errors.map((error) => error.message).join('; '));
  }
}
