/** Milliseconds to the microsecond: more digits are noise that every result would store. */
export function toMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

/** A copy of some times, all in milliseconds, each to the microsecond. */
export function timesToMicroseconds<Times extends { [name in keyof Times]: number }>(times: Times): Times {
  const copy: Times = { ...times };
  for (const name in copy) copy[name] = toMicroseconds(copy[name]) as Times[typeof name];
  return copy;
}
