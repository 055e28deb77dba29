import { type Html, html } from '../html.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** A length of time in the unit people would use. */
export function duration(ms: number): string {
  if (ms < 10 && ms > 0) return `${rounded(ms, ms < 0.1 ? 2 : 1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < minuteMs) return `${rounded(ms / 1_000, ms < 10_000 ? 2 : 1)} s`;
  if (ms < hourMs) return inTwo(ms, minuteMs, 'min', 1_000, 's');
  if (ms < 2 * dayMs) return inTwo(ms, hourMs, 'h', minuteMs, 'min');
  return inTwo(ms, dayMs, 'd', hourMs, 'h');
}

function rounded(value: number, digits: number): string {
  return String(Number(value.toFixed(digits)));
}

function inTwo(ms: number, unitMs: number, unit: string, partMs: number, part: string): string {
  const parts = Math.floor((ms % unitMs) / partMs);
  return `${Math.floor(ms / unitMs)} ${unit}${parts > 0 ? ` ${parts} ${part}` : ''}`;
}

/** An instant: UTC in the page, which a script of the page turns into the reader's zone. */
export function instant(at: number | string): Html {
  const iso = typeof at === 'number' ? new Date(at).toISOString() : at;
  const utc = `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
  return html`<time datetime="${iso}" title="${utc}">${utc}</time>`;
}

/** How long ago; the instant is at hand. */
export function ago(at: number, now: number): Html {
  const iso = new Date(at).toISOString();
  const text = now - at < 1_000 ? 'just now' : `${coarse(now - at)} ago`;
  return html`<time datetime="${iso}" title="${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC" data-ago>${text}</time>`;
}

/** One unit is enough of what is past. */
function coarse(ms: number): string {
  if (ms < minuteMs) return `${Math.floor(ms / 1_000)} s`;
  if (ms < hourMs) return `${Math.floor(ms / minuteMs)} min`;
  if (ms < 2 * dayMs) return `${Math.floor(ms / hourMs)} h`;
  return `${Math.floor(ms / dayMs)} d`;
}

/** A share of 0 to 1. Only what is whole is shown as 100 %. */
export function percent(share: number): string {
  const percentage = share * 100;
  if (percentage === 100 || percentage === 0) return `${percentage} %`;
  return `${Math.min(99.99, Math.floor(percentage * 100) / 100).toFixed(2)} %`;
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

export function counted(count: number, one: string, several = `${one}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : several}`;
}

/** A text cut where it is too long for its place; the whole is at hand elsewhere. */
export function shortened(text: string, letters: number): string {
  const all = [...text.slice(0, letters * 2 + 2)];
  return all.length > letters ? `${all.slice(0, letters - 1).join('')}…` : text;
}
