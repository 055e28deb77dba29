import { countText } from './count.ts';

declare const isShare: unique symbol;

/** A part of a whole: 0 to 1. Only the functions of this file make one, so a percentage is never taken for a share. */
export type Share = number & { readonly [isShare]: true };

/**
 * @throws RangeError for less than 0, more than 1 and NaN: such a number is no share, and printing it would be a lie.
 */
export function share(value: number): Share {
  if (!(value >= 0 && value <= 1)) throw new RangeError(`${value} is not a share: a share is from 0 to 1`);
  return value as Share;
}

/** Null where there is no whole: a share of nothing is not known. */
export function shareOf(part: number, whole: number): Share | null {
  return whole === 0 ? null : share(part / whole);
}

/** Of a percentage, as the API has it. */
export function shareOfPercent(percent: number): Share;
export function shareOfPercent(percent: number | null): Share | null;
export function shareOfPercent(percent: number | null): Share | null {
  return percent === null ? null : share(percent / 100);
}

/**
 * A share as a percentage with at most two digits, rounded down, so that only the whole is called 100 %. What is not
 * nothing is never called 0 %.
 */
export function percentText(part: Share): string {
  if (part === 1) return '100 %';
  if (part === 0) return '0 %';
  // 0.29 * 100 is 28.999999999999996: without this it would be called 28.99 %.
  const hundredths = Math.floor(Number((part * 10_000).toPrecision(13)));
  if (hundredths === 0) return '< 0.01 %';
  return `${Math.min(hundredths, 9_999) / 100} %`;
}

/** What is left of a budget in percent, which is less than nothing where it is overspent. Rounded down. */
export function leftText(percent: number): string {
  if (percent >= 0 && percent <= 100) return percentText(share(percent / 100));
  return `${percent < 0 ? '−' : ''}${countText(Math.ceil(Math.abs(percent) * 100) / 100)} %`;
}
