import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether this is a nightly run: full lists and long campaigns instead of samples. */
    isNight: boolean;
  }
}

/** Set by `npm run test:nightly`, which runs the same tests in their long form. */
export const isNight = inject('isNight');

/** Returns the full list at night, and a sample of `count` spread over the list by day. */
export function sampleOf<T>(all: readonly T[], count: number): readonly T[] {
  if (isNight || all.length <= count) return all;
  return Array.from({ length: count }, (_, index) => all[Math.floor((index * all.length) / count)] as T);
}
