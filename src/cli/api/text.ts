import { coarseDurationText } from '@picket/lib/figures/duration.ts';
import { dictionary } from '@picket/lib/names/dictionary.ts';
import type { OpenAlert } from '@picket/protocol/alerts/alert-handling.ts';

const gap = '  ';
const least = 6;
const minuteMs = 60_000;
const units = dictionary<number>({ m: minuteMs, h: 60 * minuteMs, d: 1440 * minuteMs });

/** Parses `90m`, `2h` or `3d` to milliseconds; undefined for anything else. */
export function durationMs(text: string): number | undefined {
  const [, count = '', unit = ''] = /^([1-9]\d{0,4})([mhd])$/.exec(text) ?? [];
  const unitMs = units[unit];
  return unitMs === undefined ? undefined : Number(count) * unitMs;
}

/** Formats a past time relative to now, in one unit: `12 min`, `3 h`, `2 d`. */
export function agoText(at: string, now: number): string {
  return coarseDurationText(now - Date.parse(at));
}

export const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** The beginning of an id, as tables show it. */
export const shortId = /^[0-9a-f]{8}[0-9a-f-]*$/i;

/**
 * Formats rows below their titles within the width of a line: shortens ids as far as they differ, and truncates the widest
 * columns, except ids, which people copy.
 */
export function table(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
  width: number,
): string[] {
  const ids = rows.flatMap((row) => row.filter((_, index) => titles[index] === 'ID'));
  const shown = (text: string, index: number) =>
    printable(titles[index] === 'ID' ? shortened(text, ids) : text);
  const all = [titles, ...rows.map((row) => row.map(shown))];
  const widths = titles.map((_, index) => Math.max(...all.map((row) => row[index]?.length ?? 0)));
  const total = () => widths.reduce((sum, one) => sum + one, gap.length * (widths.length - 1));
  while (total() > width) {
    const cuttable = widths.map((one, index) => (titles[index] === 'ID' ? 0 : one));
    const widest = cuttable.indexOf(Math.max(...cuttable));
    const present = cuttable[widest] ?? 0;
    if (present <= least) break;
    widths[widest] = Math.max(least, present - (total() - width));
  }
  return all.map((row) =>
    row
      .map((text, index) => cell(text, widths[index] ?? 0))
      .join(gap)
      .trimEnd(),
  );
}

/** The first eight characters of an id, more where those of another id are the same. Commands accept them as ids. */
function shortened(id: string, all: readonly string[]): string {
  if (!uuid.test(id)) return id;
  const length = [8, 13, 18, 23].find((one) =>
    all.every((other) => other === id || other.slice(0, one) !== id.slice(0, one)),
  );
  return id.slice(0, length);
}

/** Removes control characters: foreign text must not control the terminal. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ');
}

function cell(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, width - 1)}…` : text.padEnd(width);
}

/** Describes the handling of an open alert: who acknowledged it, why it is suppressed, or who was notified. */
export function knownBy({ acknowledgement, silencedUntil, suppressedBy, notified }: OpenAlert): string {
  if (acknowledgement) return acknowledgement.by.name;
  if (silencedUntil !== null) return 'silenced';
  return suppressedBy ?? notified.words;
}
