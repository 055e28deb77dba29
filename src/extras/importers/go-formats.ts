import { regexProblem } from '@picket/lib/bounds/bounded-regex.ts';

/**
 * Converts a Go regular expression (RE2) to JavaScript.
 *
 * @returns undefined if it uses features that JavaScript does not have.
 */
export function javaScriptPattern(pattern: string): string | undefined {
  const [, flags = '', rest = pattern] = /^\(\?([ims]+)\)(.*)$/s.exec(pattern) ?? [];
  const written = rest.replaceAll('\\A', '^').replaceAll('\\z', '$').replaceAll('(?P<', '(?<');
  const whole = flags === '' ? written : `(?${flags}:${written})`;
  return regexProblem(whole) === undefined && !/\[\[:|\\Q/.test(written) ? whole : undefined;
}

/**
 * Converts a Go regular expression for an assertion, which captures the whole match.
 *
 * @returns undefined if it uses features that JavaScript does not have.
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

/** Parses a duration such as `1h30m` or `500ms` to seconds; undefined for other texts. */
export function secondsOf(text: string): number | undefined {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhdwy])/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text.trim()) return undefined;
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * (unitSeconds[unit ?? ''] ?? 0), 0);
}
