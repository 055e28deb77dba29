import { countText } from './count.ts';

declare const isShare: unique symbol;

/** A part of a whole: 0 to 1. Only this file creates shares, so a percentage is never mistaken for a share. */
export type Share = number & { readonly [isShare]: true };

/**
 * @throws RangeError for numbers below 0 or above 1 and for NaN, which are not shares and must not be printed.
 */
export function share(value: number): Share {
  if (!(value >= 0 && value <= 1)) throw new RangeError(`${value} is not a share: a share is from 0 to 1`);
  return value as Share;
}

/** Returns null if the whole is 0: a share of nothing is unknown. */
export function shareOf(part: number, whole: number): Share | null {
  return whole === 0 ? null : share(part / whole);
}

/** Converts a percentage of the API. */
export function shareOfPercent(percent: number): Share;
export function shareOfPercent(percent: number | null): Share | null;
export function shareOfPercent(percent: number | null): Share | null {
  return percent === null ? null : share(percent / 100);
}

/**
 * Formats a share as a percentage with at most two decimals, rounded down: only the whole becomes 100 %, and only an
 * empty part becomes 0 %.
 */
export function percentText(part: Share): string {
  if (part === 1) return '100 %';
  if (part === 0) return '0 %';
  // 0.29 * 100 is 28.999999999999996: without this it would be shown as 28.99 %.
  const hundredths = Math.floor(Number((part * 10_000).toPrecision(13)));
  if (hundredths === 0) return '< 0.01 %';
  return `${Math.min(hundredths, 9_999) / 100} %`;
}

/** Formats the remaining percentage of a budget, which is negative if the budget is overspent. Rounded down. */
export function leftText(percent: number): string {
  if (percent >= 0 && percent <= 100) return percentText(share(percent / 100));
  return `${percent < 0 ? '−' : ''}${countText(Math.ceil(Math.abs(percent) * 100) / 100)} %`;
}
