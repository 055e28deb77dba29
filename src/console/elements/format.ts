import { coarseDurationText } from '@picket/lib/figures/duration.ts';
import { dayText, isoText, utcText } from '@picket/lib/figures/time.ts';
import { type Html, html } from '../html.ts';

export { counted, countText } from '@picket/lib/figures/count.ts';
export { durationText as duration } from '@picket/lib/figures/duration.ts';
export { percentText as percent } from '@picket/lib/figures/share.ts';
export { utcText as utc } from '@picket/lib/figures/time.ts';

/** An instant: UTC in the page, which a script of the page turns into the reader's zone. */
export function instant(at: number | string): Html {
  const utc = utcText(at, 'second');
  return html`<time datetime="${isoText(at)}" title="${utc}">${utc}</time>`;
}

/** The day of an instant in UTC: `12 Nov 2026`; the instant is at hand. */
export function day(at: number | string): Html {
  return html`<time datetime="${isoText(at)}" title="${utcText(at, 'second')}" data-day>${dayText(at)}</time>`;
}

/** How long ago; the instant is at hand. */
export function ago(at: number, now: number): Html {
  const text = now - at < 1_000 ? 'just now' : `${coarseDurationText(now - at)} ago`;
  return html`<time datetime="${isoText(at)}" title="${utcText(at, 'second')}" data-ago>${text}</time>`;
}

const sizes = ['bytes', 'KiB', 'MiB', 'GiB'] as const;

export function bytes(count: number): string {
  let value = count;
  let unit = 0;
  while (value >= 1_024 && unit < sizes.length - 1) {
    value /= 1_024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${sizes[unit]}`;
}

/** A text cut where it is too long for its place; the whole is at hand elsewhere. */
export function shortened(text: string, letters: number): string {
  const all = [...text.slice(0, letters * 2 + 2)];
  return all.length > letters ? `${all.slice(0, letters - 1).join('')}…` : text;
}
