import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { stripVTControlCharacters } from 'node:util';
import { assertionWords, receivedWords } from '@picket/checks/judging/assertion.ts';

/** Part of a message that is examined; the rest of a very long one adds nothing. */
const maxRawLength = 20_000;
const maxCleanedLength = 1000;

const months = 'Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec';
const days = 'Mon|Tue|Wed|Thu|Fri|Sat|Sun';

/** Parts that differ between two occurrences of one error, and their replacements, in order of application. */
const rules: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '<uuid>'],
  // ISO 8601 and RFC 3339, then RFC 9110 and the JavaScript format, then times of day and Unix time.
  [/\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?\b/g, '<time>'],
  [
    new RegExp(
      `\\b(?:${days}),? (?:\\d{1,2} (?:${months})|(?:${months}) \\d{1,2}) \\d{4} \\d{2}:\\d{2}:\\d{2}` +
        '(?: (?:GMT|UTC|Z)?(?:[+-]\\d{4})?(?: \\([^)]{1,60}\\))?)?',
      'g',
    ),
    '<time>',
  ],
  [/\b\d{1,2}:\d{2}:\d{2}(?:[.,]\d{1,9})?\b/g, '<time>'],
  [/(?<![\w.])\d{10,13}(?![\w.]\w)(?!\w)/g, '<time>'],
  [/[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+/g, '<email>'],
  [/(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?(?![\w.]\d)/g, '<ip>'],
];

/** Two or more groups between colons, as in IPv6 addresses, with an optional port after brackets. */
const maybeIPv6 = /\[?(?<![\w:])((?:[0-9a-f]{0,4}:){2,7}(?:[0-9a-f]{1,4})?)(?![\w:])(?:\](?::\d{1,5})?)?/gi;

const laterRules: readonly (readonly [RegExp, string])[] = [
  [/(\bhttps?:\/\/[^\s?#"']{1,2048})[?#][^\s"')]*/gi, '$1'],
  [/\b(?:0x)?(?=\d*[a-f])[0-9a-f]{8,}\b/gi, '<hex>'],
  // File paths: with a line number, in a temporary folder, on Windows, or as a URL.
  [/file:\/\/\/[^\s"'):]+(?::\d+){0,2}/g, '<path>'],
  [/\b[A-Za-z]:\\[^\s"'):]+(?::\d+){0,2}/g, '<path>'],
  [/(?<![\w:/.>-])(?:\/[\w.@<>+-]+){1,64}(?::\d+){1,2}/g, '<path>'],
  [/(?<![\w:/.>-])\/(?:private\/)?(?:var\/folders|var\/tmp|tmp)(?:\/[\w.@<>+-]+){1,64}/g, '<path>'],
  [/(["'`])-?\d+(?:\.\d+)?\1/g, '$1<n>$1'],
];

const numbers = /(?<![A-Za-z_<\d.])\d+(?:\.\d+)*/g;
const statusBefore = /(?:\bstatus|_status|status_code|\bhttp\b)[^\n]{0,60}$/i;

/**
 * Removes the parts of a message that differ between occurrences (check model 3.7), so that equal errors have equal
 * texts: no colours, no Playwright call log, and placeholders for ids, times, addresses, paths and numbers. HTTP
 * statuses are kept, because a 404 is not a 500.
 */
export function cleanedMessage(raw: string): string {
  const plain = stripVTControlCharacters(raw.slice(0, maxRawLength));
  const callLogAt = plain.indexOf('Call log:');
  let text = callLogAt === -1 ? plain : plain.slice(0, callLogAt);
  // The value that an assertion received differs each time; the assertion that failed does not.
  const isOfAssertion = isAssertion(text);
  if (isOfAssertion) text = text.split(receivedWords, 1)[0] ?? text;
  for (const [pattern, word] of rules) text = text.replace(pattern, word);
  text = text.replace(maybeIPv6, (match, address: string) => (isIPv6(address) ? '<ip>' : match));
  for (const [pattern, word] of laterRules) text = text.replace(pattern, word);
  text = text.replace(numbers, (number, offset: number) => {
    // Numbers in an assertion are part of its configuration.
    if (number.length < 2 || isOfAssertion) return number;
    const isStatus =
      /^[1-5]\d\d$/.test(number) && statusBefore.test(text.slice(Math.max(0, offset - 80), offset));
    return isStatus ? number : '<n>';
  });
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, maxCleanedLength).toWellFormed();
}

/**
 * Whether a message is about an assertion of a check: each assertion is its own group, however similar two of them are.
 */
export function isAssertion(message: string): boolean {
  return message.startsWith(assertionWords);
}

/** SHA-256 of a cleaned message, in hex; identifies a group. */
export function errorHash(cleaned: string): string {
  return createHash('sha256').update(cleaned).digest('hex');
}
