import type { DetailSummary, SummarySection } from '@picket/checks/summary/detail-summary.ts';

/** Field names that HTTP allows; any other beginning of a header would be an option or a file for curl. */
const fieldName = /^[\w!#$%&'*+.^`|~-]+$/;

/**
 * Returns the HTTP request of a run as a curl command, as it is stored: secrets are masked.
 *
 * @returns undefined for runs without an HTTP request.
 */
export function curlOf(summary: DetailSummary | undefined): string | undefined {
  const request = summary?.sections.find(isHttpRequest);
  if (!request?.line?.url) return undefined;
  const { text: method, url } = request.line;
  const body = request.texts?.[0]?.text;
  const isRedirected = summary?.sections.some(({ id }) => id === 'redirects') ?? false;
  const headers = Object.entries(request.headers ?? {}).filter(([name]) => fieldName.test(name));
  return [
    'curl',
    ...methodOption(method, body !== undefined),
    ...(isRedirected ? ['--location'] : []),
    // Brackets and braces in a URL are ranges for curl.
    ...(/[[\]{}]/.test(url) ? ['--globoff'] : []),
    quoted(url),
    ...headers.map(([name, value]) => `-H ${quoted(value === '' ? `${name};` : `${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`--data-raw ${quoted(body)}`]),
  ].join(' ');
}

function isHttpRequest({ id, line }: SummarySection): boolean {
  return id === 'request' && /^https?:/i.test(line?.url ?? '') && /^[A-Z]+$/.test(line?.text ?? '');
}

function methodOption(method: string, hasBody: boolean): string[] {
  if (method === (hasBody ? 'POST' : 'GET')) return [];
  return method === 'HEAD' && !hasBody ? ['--head'] : [`-X ${method}`];
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for them
const control = /[\u0000-\u001f\u007f-\u009f]/g;

/**
 * Quotes a text for a shell. Control characters are escaped: a terminal would obey those that are pasted, whatever the
 * quotes around them.
 */
function quoted(text: string): string {
  if (!text.match(control)) return `'${text.replaceAll("'", String.raw`'\''`)}'`;
  const escaped = text
    .replaceAll(/[\\']/g, (letter) => `\\${letter}`)
    .replaceAll(control, (letter) => escapes[letter] ?? codeOf(letter));
  return `$'${escaped}'`;
}

const escapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function codeOf(letter: string): string {
  return [...Buffer.from(letter)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
}
