import { copyFile, open, readFile, stat, writeFile } from 'node:fs/promises';
import type { Scrubber } from '../scrubber.ts';

/** What became of a file. The report holds words and counts, never values. */
export type ScrubOutcome =
  | { readonly isSendable: true; readonly report: Readonly<Record<string, string | number | boolean>> }
  | { readonly isSendable: false; readonly reason: string };

/** Makes artifacts fit to be sent. */
export interface ArtifactScrubber {
  /**
   * Writes a copy of a file without secrets. When it is not sendable the copy counts for nothing.
   *
   * @param signal gives the work up; the promise then rejects.
   */
  scrub(
    source: string,
    target: string,
    about: { readonly contentType: string },
    signal: AbortSignal,
  ): Promise<ScrubOutcome>;
}

/** What is done with a file because of its content type. */
export type ScrubPolicy = 'rewrite' | 'search' | 'withhold';

/** Types whose bytes are not text and not compressed by a method that hides texts: a secret in them stands as it is. */
const searchedTypes =
  /^(?:image\/(?!svg)|video\/|audio\/|font\/|application\/(?:octet-stream|pdf|vnd\.tcpdump\.pcap|x-pcapng)$)/;
const textTypes =
  /^(?:text\/|image\/svg\+xml$|application\/(?:.+\+)?(?:json|xml|javascript|x-ndjson|yaml|x-sh|har)$)/;

/** A text is held in memory as a whole while it is rewritten. */
const maxTextBytes = 8 * 2 ** 20;
const windowBytes = 4 * 2 ** 20;
/** More than the longest form of the longest secret (128 KB, six characters for each of its own in JSON). */
const overlapBytes = 2 ** 20;

/**
 * The policy (docs/adr/0009): texts are rewritten; media, captures and raw bytes are searched and withheld when a secret
 * stands in them; archives and everything unknown are withheld, because nobody has looked inside.
 */
export function scrubPolicyOf(contentType: string): ScrubPolicy {
  const essence = contentType.split(';')[0]?.trim().toLowerCase() ?? '';
  if (textTypes.test(essence)) return 'rewrite';
  return searchedTypes.test(essence) ? 'search' : 'withhold';
}

/** Scrubs artifacts with the scrubber of a run's report. What that cannot do surely is withheld. */
export class ReportArtifactScrubber implements ArtifactScrubber {
  readonly #scrubber: Scrubber;

  constructor(scrubber: Scrubber) {
    this.#scrubber = scrubber;
  }

  async scrub(
    source: string,
    target: string,
    { contentType }: { readonly contentType: string },
    signal: AbortSignal,
  ): Promise<ScrubOutcome> {
    switch (scrubPolicyOf(contentType)) {
      case 'rewrite':
        return this.#rewrite(source, target, signal);
      case 'search':
        return this.#search(source, target, signal);
      case 'withhold':
        return { isSendable: false, reason: `files of type ${contentType} cannot be searched for secrets` };
    }
  }

  async #rewrite(source: string, target: string, signal: AbortSignal): Promise<ScrubOutcome> {
    if ((await stat(source)).size > maxTextBytes) {
      return { isSendable: false, reason: `a text of more than ${maxTextBytes} bytes cannot be scrubbed` };
    }
    const text = decoded(await readFile(source, { signal }));
    if (text === undefined) return { isSendable: false, reason: 'it is said to be a text but is not UTF-8' };
    const clean = this.#scrubber.text(text);
    await writeFile(target, clean, { mode: 0o600, flag: 'wx', signal });
    return { isSendable: true, report: { method: 'rewritten', isChanged: clean !== text } };
  }

  async #search(source: string, target: string, signal: AbortSignal): Promise<ScrubOutcome> {
    const file = await open(source, 'r');
    try {
      const window = Buffer.alloc(windowBytes);
      let kept = 0;
      for (;;) {
        signal.throwIfAborted();
        const { bytesRead } = await file.read(window, kept, windowBytes - kept);
        if (bytesRead === 0) break;
        const filled = kept + bytesRead;
        const text = window.toString('utf8', 0, filled);
        if (this.#scrubber.text(text) !== text) {
          return { isSendable: false, reason: 'a secret stands in its bytes' };
        }
        // What begins near the end of this window is seen in whole in the next.
        kept = Math.min(filled, overlapBytes);
        window.copyWithin(0, filled - kept, filled);
      }
    } finally {
      await file.close();
    }
    await copyFile(source, target);
    return { isSendable: true, report: { method: 'searched' } };
  }
}

function decoded(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (thrown) {
    if (thrown instanceof TypeError) return undefined;
    throw thrown;
  }
}
