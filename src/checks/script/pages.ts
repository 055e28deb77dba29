import { beginningOf } from '@picket/lib/text.ts';
import type { ScriptPage } from './detail.ts';

/** A page's report about itself (src/sandbox/scripts/events.ts). */
interface ToldPage {
  readonly url: string;
  readonly timeOrigin: number;
  readonly vitals: Readonly<Record<'CLS' | 'FCP' | 'LCP' | 'TBT' | 'TTFB', number | null>>;
  readonly onContentLoad: number | null;
  readonly onLoad: number | null;
}

const maxPages = 100;
const maxUrlLength = 2048;

/**
 * Upper bound of good values and lower bound of poor values of each web vital; milliseconds, except for CLS (check
 * model 3.2).
 */
const vitalLimits = {
  CLS: [0.1, 0.25],
  FCP: [1800, 3000],
  LCP: [2500, 4000],
  TBT: [200, 600],
  TTFB: [800, 1800],
} as const;

/** The pages of a run in order, one per navigation, with the last report of each. */
export function scriptPages(told: readonly ToldPage[]): ScriptPage[] {
  // A page reports when it unloads, and possibly before: the origin of its clock identifies it.
  const last = new Map(told.map((page) => [`${page.timeOrigin} ${page.url}`, page]));
  return [...last.values()]
    .sort((one, other) => one.timeOrigin - other.timeOrigin)
    .slice(0, maxPages)
    .map(({ url, vitals, onContentLoad, onLoad }) => ({
      url: beginningOf(url, maxUrlLength),
      webVitals: {
        CLS: scored('CLS', vitals.CLS),
        FCP: scored('FCP', vitals.FCP),
        LCP: scored('LCP', vitals.LCP),
        TBT: scored('TBT', vitals.TBT),
        TTFB: scored('TTFB', vitals.TTFB),
      },
      pageTimings: { onContentLoad, onLoad },
    }));
}

function scored(name: keyof typeof vitalLimits, value: number | null): ScriptPage['webVitals']['CLS'] {
  if (value === null) return null;
  const [good, poor] = vitalLimits[name];
  const score = value <= good ? 'GOOD' : value <= poor ? 'NEEDS_IMPROVEMENT' : 'POOR';
  return { score, value: Math.round(value * 1000) / 1000 };
}
