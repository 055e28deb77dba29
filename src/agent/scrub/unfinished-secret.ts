import type { LogEntry } from '@picket/checks/contract/run-log.ts';
import type { SecretFinder } from '@picket/checks/secrets/secret-finder.ts';

/** The end of a line that other programs wrap: of Base64, of quoted-printable. */
const wrappedEnd = /(?:[\w+/-]{16}|=)\n$/;

/** The first of these lines that may be the beginning of a secret which later lines complete; their number if none is. */
export function unfinishedFrom(entries: readonly LogEntry[], finder: SecretFinder): number {
  let first = entries.length;
  for (const level of new Set(entries.map((entry) => entry.level))) {
    const places = [...entries.keys()].filter((place) => entries[place]?.level === level);
    const text = places.map((place) => `${entries[place]?.msg ?? ''}\n`).join('');
    const start = unfinishedIn(text, finder);
    if (start < 0) continue;
    const linesBefore = Buffer.from(text).subarray(0, start).toString('latin1').split('\n').length - 1;
    first = Math.min(first, places[linesBefore] ?? first);
  }
  return first;
}

/** Start of a secret that these lines leave unfinished, or -1. */
function unfinishedIn(lines: string, finder: SecretFinder): number {
  const bytes = Buffer.from(lines);
  // A secret of several lines contains the line break, too.
  const ofLines = finder.cut.beginningBefore(bytes, bytes.length);
  if (ofLines >= 0 || !wrappedEnd.test(lines)) return ofLines;
  const end = bytes.length - 1;
  if (finder.find(bytes.subarray(0, end)).some((range) => range.end === end)) return -1;
  // The remains of a secret before the mark of a cut text.
  const cut = Buffer.from(`${lines.slice(0, -1)}…`);
  return finder.find(cut).find((range) => range.end >= end)?.start ?? -1;
}
