import { regexProblem } from '@picket/lib/bounds/bounded-regex.ts';

/**
 * A regular expression of Go (RE2) as JavaScript writes it.
 *
 * @returns undefined where it uses what JavaScript has not.
 */
export function javaScriptPattern(pattern: string): string | undefined {
  const [, flags = '', rest = pattern] = /^\(\?([ims]+)\)(.*)$/s.exec(pattern) ?? [];
  const written = rest.replaceAll('\\A', '^').replaceAll('\\z', '$').replaceAll('(?P<', '(?<');
  const whole = flags === '' ? written : `(?${flags}:${written})`;
  return regexProblem(whole) === undefined && !/\[\[:|\\Q/.test(written) ? whole : undefined;
}

/**
 * A regular expression of Go as assertions take them: what it finds is the whole match.
 *
 * @returns undefined where it uses what JavaScript has not.
 */
export function wholeMatch(pattern: string): string | undefined {
  const whole = javaScriptPattern(pattern);
  return whole === undefined ? undefined : `(${whole})`;
}

const unitSeconds: Readonly<Record<string, number>> = {
  ms: 0.001,
  s: 1,
  m: 60,
  h: 3600,
  d: 86_400,
  w: 604_800,
  y: 31_536_000,
};

/** The seconds of a duration such as `1h30m` or `500ms`; undefined for anything else. */
export function secondsOf(text: string): number | undefined {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhdwy])/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text.trim()) return undefined;
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * (unitSeconds[unit ?? ''] ?? 0), 0);
}
