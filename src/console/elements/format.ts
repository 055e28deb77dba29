import { coarseDurationText } from '@picket/lib/figures/duration.ts';
import { dayText, isoText, utcText } from '@picket/lib/figures/time.ts';
import { type Html, html } from '../html.ts';

export { counted, countText } from '@picket/lib/figures/count.ts';
export { durationText as duration } from '@picket/lib/figures/duration.ts';
export { percentText as percent } from '@picket/lib/figures/share.ts';
export { utcText as utc } from '@picket/lib/figures/time.ts';

/** Shows an instant in UTC; the page's script converts it to the reader's zone. */
export function instant(at: number | string): Html {
  const utc = utcText(at, 'second');
  return html`<time datetime="${isoText(at)}" title="${utc}">${utc}</time>`;
}

/** Shows the UTC day of an instant, `12 Nov 2026`, with the instant as its tooltip. */
export function day(at: number | string): Html {
  return html`<time datetime="${isoText(at)}" title="${utcText(at, 'second')}" data-day>${dayText(at)}</time>`;
}

/** Shows the age of an instant, with the instant as its tooltip. */
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

/** Truncates a text that is too long for its place; the whole text is available elsewhere. */
export function shortened(text: string, letters: number): string {
  const all = [...text.slice(0, letters * 2 + 2)];
  return all.length > letters ? `${all.slice(0, letters - 1).join('')}…` : text;
}
