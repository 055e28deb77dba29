import { mask } from '../../../checks/judging/credential-headers.ts';
import { scrubFile } from '../../scrub/files/scrub-file.ts';
import { Unscrubbable } from '../../scrub/scrub-report.ts';
import type { SecretFinder } from '../../scrub/secret-finder.ts';

/** What became of a file. The report holds words and counts, never values. */
export type ScrubOutcome =
  | { readonly isSendable: true; readonly report: Readonly<Record<string, number>> }
  | { readonly isSendable: false; readonly reason: string };

/** Makes artifacts fit to be sent. */
export interface ArtifactScrubber {
  /**
   * Writes a copy of a file without secrets. When it is not sendable the copy counts for nothing.
   *
   * @param signal gives the work up; the promise then rejects.
   */
  scrub(source: string, target: string, signal: AbortSignal): Promise<ScrubOutcome>;
}

/**
 * The policy of ADR 9: texts, archives and whatever is not known are searched byte by byte and rewritten;
 * media and captures are searched and withheld when a secret stands in them; what can be neither searched nor
 * unpacked is withheld.
 */
export class FileScrubber implements ArtifactScrubber {
  readonly #createFinder: () => SecretFinder;
  #finder: SecretFinder | undefined;

  /** @param createFinder called when the first file comes: most runs have none. */
  constructor(createFinder: () => SecretFinder) {
    this.#createFinder = createFinder;
  }

  async scrub(source: string, target: string, signal: AbortSignal): Promise<ScrubOutcome> {
    this.#finder ??= this.#createFinder();
    try {
      const report = await scrubFile(source, target, { finder: this.#finder, mask, signal });
      return { isSendable: true, report: { ...report } };
    } catch (thrown) {
      if (thrown instanceof Unscrubbable) return { isSendable: false, reason: thrown.message };
      throw thrown;
    }
  }
}
