import {
  failingPeriodSeconds,
  frequencies,
  subMinutePeriodsSeconds,
} from '@picket/checks/contract/frequency.ts';

const unitsMs: Readonly<Record<string, number>> = {
  ...{ ms: 1, s: 1000, sec: 1000, second: 1000, seconds: 1000, m: 60_000, min: 60_000, minute: 60_000 },
  ...{
    minutes: 60_000,
    h: 3_600_000,
    hour: 3_600_000,
    hours: 3_600_000,
    d: 86_400_000,
    day: 86_400_000,
    days: 86_400_000,
  },
};

/** Milliseconds of a text such as `30s`, `1m` or `1.5 h`; undefined for anything else. */
export function durationMs(text: unknown): number | undefined {
  if (typeof text !== 'string') return undefined;
  const [, amount, unit = ''] = /^\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*$/i.exec(text) ?? [];
  const unitMs = Object.hasOwn(unitsMs, unit.toLowerCase()) ? unitsMs[unit.toLowerCase()] : undefined;
  return amount === undefined || unitMs === undefined ? undefined : Number(amount) * unitMs;
}

/** The value of a field in its own unit, which its name tells: `maxResponseTime` is in milliseconds. */
export function inUnitOf(field: string, ms: number): number {
  return /ResponseTime$|Ms$/.test(field) ? ms : ms / 1000;
}

/** The two fields for an interval of a check; a sentence where Picket has no such interval. */
export function frequencyOf(
  ms: number,
): { readonly frequency: number; readonly frequencyOffset?: number } | { readonly problem: string } {
  const [seconds, minutes] = [ms / 1000, ms / 60_000];
  if (subMinutePeriodsSeconds.some((one) => one === seconds))
    return { frequency: 0, frequencyOffset: seconds };
  if (frequencies.some((one) => one !== 0 && one === minutes)) return { frequency: minutes };
  const all = [
    ...subMinutePeriodsSeconds.map((one) => `${one}s`),
    ...frequencies.filter(Boolean).map((one) => `${one}m`),
  ];
  return { problem: `must be one of [${all.join(', ')}]` };
}

/** The field for an interval of a failing check; a sentence where Picket has no such interval. */
export function failingFrequencyOf(
  ms: number,
): { readonly frequencyWhileFailing: number } | { readonly problem: string } {
  const minutes = ms === failingPeriodSeconds * 1_000 ? 0 : ms / 60_000;
  const known = frequencies.find((one) => one === minutes);
  if (known !== undefined) return { frequencyWhileFailing: known };
  const all = frequencies.map((one) => (one === 0 ? `${failingPeriodSeconds}s` : `${one}m`));
  return { problem: `must be one of [${all.join(', ')}]` };
}

/** Amount and unit as heartbeats have them. */
export function amountOf(ms: number): { readonly amount: number; readonly unit: string } {
  const [unit, unitMs] = (
    [
      ['days', 86_400_000],
      ['hours', 3_600_000],
      ['minutes', 60_000],
    ] as const
  ).find(([, one]) => ms % one === 0) ?? ['seconds', 1000];
  return { amount: ms / unitMs, unit };
}
