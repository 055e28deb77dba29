import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether the tests run at night: whole lists and long campaigns instead of samples. */
    isNight: boolean;
  }
}

/** `npm run test:nightly` runs the same tests in their long form. */
export const isNight = inject('isNight');

/** All of a list at night; by day so many of them, spread over all of it. */
export function sampleOf<T>(all: readonly T[], count: number): readonly T[] {
  if (isNight || all.length <= count) return all;
  return Array.from({ length: count }, (_, index) => all[Math.floor((index * all.length) / count)] as T);
}
