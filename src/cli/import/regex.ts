import { regexProblem } from '../../lib/bounds/bounded-regex.ts';

/**
 * A regular expression of Go (RE2) as checks take them: what it finds is the whole match.
 *
 * @returns undefined where it uses what JavaScript has not.
 */
export function wholeMatch(pattern: string): string | undefined {
  const [, flags = '', rest = pattern] = /^\(\?([ims]+)\)(.*)$/s.exec(pattern) ?? [];
  const written = rest.replaceAll('\\A', '^').replaceAll('\\z', '$');
  const whole = flags === '' ? `(${written})` : `((?${flags}:${written}))`;
  return regexProblem(whole) === undefined && !/\[\[:|\\Q|\(\?P</.test(written) ? whole : undefined;
}
