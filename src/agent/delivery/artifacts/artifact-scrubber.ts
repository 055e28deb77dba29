import { mask } from '@picket/checks/judging/credential-headers.ts';
import type { SecretFinder } from '@picket/checks/secrets/secret-finder.ts';
import { scrubFile } from '../../scrub/files/scrub-file.ts';
import { type ScrubReport, Unscrubbable } from '../../scrub/scrub-report.ts';

/** A reason may have 500 characters. */
const maxLeftOutLength = 450;
const maxShownName = 100;

/** Outcome for one file. The report holds words and counts, never values. */
export type ScrubOutcome =
  | {
      readonly isSendable: true;
      readonly report: Readonly<Record<string, number>>;
      /** Files in it that are missing, and why; null if it is complete. */
      readonly leftOut: string | null;
    }
  | { readonly isSendable: false; readonly reason: string };

/** Prepares artifacts for sending. */
export interface ArtifactScrubber {
  /**
   * Writes a copy of a file without secrets. If the file is not sendable, ignore the copy.
   *
   * @param signal aborts the work; the promise then rejects.
   */
  scrub(source: string, target: string, signal: AbortSignal): Promise<ScrubOutcome>;
}

/**
 * Implements the policy of ADR 9: texts, archives and unknown formats are searched byte by byte and rewritten; media
 * and captures are searched and withheld if they contain a secret; files that can be neither searched nor unpacked are
 * withheld.
 */
export class FileScrubber implements ArtifactScrubber {
  readonly #createFinder: () => SecretFinder;
  #finder: SecretFinder | undefined;

  /** @param createFinder called for the first file: most runs have no files. */
  constructor(createFinder: () => SecretFinder) {
    this.#createFinder = createFinder;
  }

  async scrub(source: string, target: string, signal: AbortSignal): Promise<ScrubOutcome> {
    this.#finder ??= this.#createFinder();
    try {
      const report = await scrubFile(source, target, { finder: this.#finder, mask, signal });
      const { withheld, ...counts } = report;
      return { isSendable: true, report: counts, leftOut: leftOutText(report) };
    } catch (thrown) {
      if (thrown instanceof Unscrubbable) return { isSendable: false, reason: thrown.message };
      throw thrown;
    }
  }
}

/** Names of contained files are untrusted: control, format and unassigned characters are replaced. */
function leftOutText({ withheld, withheldCount }: ScrubReport): string | null {
  if (withheldCount === 0) return null;
  const files = withheldCount === 1 ? '1 file within it is' : `${withheldCount} files within it are`;
  let text = '';
  let shown = 0;
  for (const { name, reason } of withheld) {
    const one = `${shown === 0 ? '' : ', '}${name.slice(-maxShownName).toWellFormed().replaceAll(/\p{C}/gu, '\uFFFD')} (${reason})`;
    if (text.length + one.length > maxLeftOutLength - files.length) break;
    text += one;
    shown += 1;
  }
  const more = withheldCount - shown;
  return `${files} left out: ${text}${more > 0 ? ` and ${more} more` : ''}`;
}
