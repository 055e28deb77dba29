const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Formats a duration in a readable unit. Two disagreeing clocks may yield a negative duration, which is shown as 0. */
export function durationText(lengthMs: number): string {
  const ms = Math.max(0, lengthMs);
  if (ms === 0) return '0 ms';
  if (ms < 0.005) return '< 0.01 ms';
  if (ms < 9.95) return `${rounded(ms, ms < 1 ? 2 : 1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  // Durations that would round to 60 s are shown as a minute.
  if (ms < minuteMs - 50) return `${rounded(ms / secondMs, ms < 9_995 ? 2 : 1)} s`;
  if (ms < minuteMs) return '1 min';
  if (ms < hourMs) return inTwo(ms, minuteMs, 'min', secondMs, 's');
  if (ms < 2 * dayMs) return inTwo(ms, hourMs, 'h', minuteMs, 'min');
  return inTwo(ms, dayMs, 'd', hourMs, 'h');
}

/** Formats the age of a past event in one unit: `12 s`, `3 h`. */
export function coarseDurationText(lengthMs: number): string {
  const ms = Math.max(0, lengthMs);
  if (ms < minuteMs) return `${Math.floor(ms / secondMs)} s`;
  if (ms < 2 * hourMs) return `${Math.floor(ms / minuteMs)} min`;
  if (ms < 2 * dayMs) return `${Math.floor(ms / hourMs)} h`;
  return `${Math.floor(ms / dayMs)} d`;
}

function rounded(value: number, digits: number): string {
  return String(Number(value.toFixed(digits)));
}

function inTwo(ms: number, unitMs: number, unit: string, partMs: number, part: string): string {
  const parts = Math.floor((ms % unitMs) / partMs);
  return `${Math.floor(ms / unitMs)} ${unit}${parts > 0 ? ` ${parts} ${part}` : ''}`;
}
