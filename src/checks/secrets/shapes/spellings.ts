import { domainToASCII } from 'node:url';

/** Spellings in bodies that are then encoded in Base64 as a whole: plain, JSON, URL, form, HTML. */
export function bodySpellings(text: string): Set<string> {
  const wellFormed = text.toWellFormed();
  const json = jsonEscaped(text);
  return new Set([
    text,
    json,
    jsonInAscii(text),
    encodeURIComponent(wellFormed),
    formEncoded(wellFormed),
    htmlEscaped(text),
  ]);
}

/**
 * Encoders, each applied to a whole text: identity, escaped for JSON (once to five times), for URLs, forms, HTML, XML,
 * shells, SQL and mail, or decoded with a wrong encoding.
 */
const encoders: readonly ((text: string) => string)[] = [
  (text) => text,
  jsonEscaped,
  jsonInAscii,
  (text) => jsonEscaped(text).replaceAll('/', String.raw`\/`),
  encodeURIComponent,
  formEncoded,
  (text) => encodeURIComponent(text).replaceAll(/[!'()*~]/g, percentCode),
  htmlEscaped,
  (text) => repeated(jsonEscaped, text, 2),
  (text) => jsonEscaped(jsonInAscii(text)),
  (text) => repeated(jsonEscaped, text, 3),
  (text) => repeated(jsonEscaped, text, 4),
  (text) => repeated(jsonEscaped, text, 5),
  encodeURI,
  (text) => encodeURIComponent(encodeURIComponent(text)),
  (text) => encodeURIComponent(formEncoded(text)),
  (text) => percentLatin(text) ?? text,
  (text) => percentLatin(text)?.replaceAll('%20', '+') ?? text,
  (text) => text.replaceAll(/[&<>]/g, (character) => htmlEntities[character] ?? character),
  (text) => htmlEscaped(text).replaceAll('&#39;', '&apos;'),
  (text) => htmlEscaped(text).replaceAll('&#39;', '&#x27;'),
  (text) => htmlEscaped(text).replaceAll('&#39;', '&#039;'),
  (text) => repeated(htmlEscaped, text, 2),
  (text) => repeated(htmlEscaped, text, 3),
  (text) => text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`),
  (text) => jsonEscaped(htmlEscaped(text)),
  (text) => jsonEscaped(encodeURIComponent(text)),
  (text) => text.replaceAll("'", `'\\''`),
  (text) => text.replaceAll("'", `'"'"'`),
  (text) => jsonEscaped(text.replaceAll("'", `'\\''`)),
  (text) => jsonEscaped(text.replaceAll("'", `'"'"'`)),
  (text) => text.replaceAll(/[^\w\n]/gu, (character) => `\\${character}`),
  (text) => text.replaceAll(/["$`\\]/g, (character) => `\\${character}`),
  (text) => text.replaceAll(/[&|<>^"%]/g, '^$&'),
  (text) => text.replaceAll(/[`"$']/g, '`$&').replaceAll('\n', '`n'),
  styleEscaped,
  // Within a longer text, where the blank is part of the escape.
  (text) => styleEscaped(text).trimEnd(),
  legacyEscaped,
  (text) => text.replaceAll("'", "''"),
  (text) => text.replaceAll('"', '""'),
  (text) => jsonEscaped(text.replaceAll('"', '""')),
  quotedPrintable,
  (text) => text.replaceAll(/[^\x20-\x7e]/gu, (character) => byteEscaped(character, hexByte)),
  (text) => text.replaceAll(/[^\x20-\x7e]/gu, (character) => byteEscaped(character, octalByte)),
  (text) => text.replaceAll(/[^\w ]/gu, (character) => byteEscaped(character, hexByte)),
  ...[0, 1].flatMap((place) => [
    (text: string) => misread(text)[place] ?? text,
    (text: string) => jsonInAscii(misread(text)[place] ?? text),
    (text: string) => encodeURIComponent(misread(text)[place] ?? text),
  ]),
];

/** The usual spellings of a text. */
export function spellings(text: string): string[] {
  const all = encoders.map((encode) => encode(text.toWellFormed()));
  return [
    ...new Set([text, ...all.flatMap((spelling) => [spelling, lowerCodes(spelling), upperCodes(spelling)])]),
  ];
}

/** JSON as Node prints it between backticks. */
function printedJson(text: string): string {
  return jsonEscaped(text).replaceAll('\\', '\\\\');
}

/** A text as Node prints it between quotes of each kind, also in JSON. */
const shownByNode = ["'", '"', '`'].flatMap((quote) => {
  const shown = (text: string) =>
    text.replaceAll(/[\\\n\r\t]/g, jsonEscaped).replaceAll(quote, String.raw`\${quote}`);
  return [
    shown,
    (text: string) => jsonEscaped(shown(text)),
    (text: string) => repeated(jsonEscaped, shown(text), 2),
  ];
});

/** Maps each spelling of a text to the length of its beginning. */
export function spellingsFrom(text: string, startLength: number): Map<string, number> {
  const wellFormed = text.toWellFormed();
  const start = wellFormed.slice(0, startLength);
  const all = new Map<string, number>();
  for (const encode of [
    ...encoders,
    ...shownByNode,
    printedJson,
    (one: string) => jsonEscaped(printedJson(one)),
  ]) {
    const spelling = encode(wellFormed);
    const { length } = encode(start);
    for (const written of [spelling, lowerCodes(spelling), upperCodes(spelling)]) all.set(written, length);
  }
  return all;
}

/**
 * Spellings of a text that a protocol treats as a case-insensitive name: of a host, the domain of a mail address, or a
 * header; and as an international host name in ASCII.
 */
export function protocolSpellings(text: string): string[] {
  if (text.length > maxNameTextLength || /\s/.test(text)) return [];
  const [, scheme = '', user = '', host = '', after = ''] = nameParts.exec(text) ?? [];
  const before = scheme.toLowerCase() + user;
  const lower = text.toLowerCase();
  const names = [
    lower,
    before + host.toLowerCase() + after,
    // As HTTP/1 proxies write the names of headers.
    lower.replaceAll(/(?:^|-)[a-z]/g, (start) => start.toUpperCase()),
    /[^\0-\x7f]/.test(host) ? before + domainToASCII(host) + after : text,
  ];
  return [...new Set(names)].filter((name) => name !== text && name.length >= minNameLength);
}

/** No host with its path, and no header name, is longer. */
const maxNameTextLength = 2048;
/** A URL, a mail address or a part of one: scheme, user, host, and the rest. */
const nameParts = /^((?:[a-z][a-z0-9+.-]*:)?\/\/)?([^\s/?#@]*@)?([^\s/?#:@]+)(.*)$/is;

/** Fully escaped texts in nested JSON: results of programs that print them, in reports. */
const maxJsonDepth = 4;

/** Spellings of encoders that change every character. */
export function completeSpellings(text: string): string[] {
  const pairs = Buffer.from(text).toString('hex').replaceAll(/../g, '%$&');
  const points = Array.from(text, (character) => character.codePointAt(0) ?? 0);
  const references = points.map((point) => `&#x${point.toString(16)};`).join('');
  const escapes = text.replaceAll(/[\s\S]/g, unicodeEscape);
  const bytes = pairs.replaceAll('%', String.raw`\x`);
  const digits = points.map((point) => point.toString(16));
  const backslashed = [
    bytes,
    escapes,
    upperCodes(escapes),
    digits
      .map((one) => `\\${one} `)
      .join('')
      .trimEnd(),
    digits.map((one) => `\\${one.padStart(6, '0')}`).join(''),
  ];
  return [
    ...Array.from({ length: maxJsonDepth }, (_, depth) => depth + 1).flatMap((depth) =>
      backslashed.map((spelling) => repeated(jsonEscaped, spelling, depth)),
    ),
    ...backslashed.slice(-2),
    encodeURIComponent(escapes),
    encodeURIComponent(jsonEscaped(escapes)),
    pairs,
    pairs.toUpperCase(),
    bytes,
    bytes.replaceAll(/[a-f]/g, (digit) => digit.toUpperCase()),
    escapes,
    upperCodes(escapes),
    references,
    references.replaceAll(/#x[^;]+/g, (digits) => `#x${digits.slice(2).toUpperCase()}`),
    points.map((point) => `&#${point};`).join(''),
  ];
}

/** Spellings of these whose beginning tools show: texts fully escaped for JSON or style sheets. */
export function allEscaped(text: string): string[] {
  const escapes = text.replaceAll(/[\s\S]/g, unicodeEscape);
  const style = Array.from(text, (one) => `\\${(one.codePointAt(0) ?? 0).toString(16)} `).join('');
  const inJson = [0, 1, 2, 3].flatMap((depth) =>
    [escapes, style].map((spelling) => repeated(jsonEscaped, spelling, depth)),
  );
  return [...inJson, encodeURIComponent(escapes), encodeURIComponent(jsonEscaped(escapes))];
}

/** Spellings of a text in file names: ours, and Playwright's. */
export function nameSpellings(text: string): string[] {
  const names = [
    text.replaceAll(/[^A-Za-z0-9_-]+/g, '-'),
    // Everything except letters, digits and non-ASCII characters.
    text.replaceAll(/[\0-,./:-@[-`{-\x7f]+/g, '-'),
  ];
  return names.filter((name) => name !== text && name.replaceAll('-', '').length >= minNameLength);
}

/** Names that keep less of a secret do not reveal it, and would match by chance. */
const minNameLength = 6;

function formEncoded(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}

function htmlEscaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => htmlEntities[character] ?? character);
}

const htmlEntities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function repeated(encode: (text: string) => string, text: string, count: number): string {
  return count === 0 ? text : repeated(encode, encode(text), count - 1);
}

function jsonInAscii(text: string): string {
  return jsonEscaped(text).replaceAll(/[^\x20-\x7e]/g, unicodeEscape);
}

/** A text in quoted-printable, on one line. */
export function quotedPrintable(text: string): string {
  return text.replaceAll(/[^\x20-\x3c\x3e-\x7e]/gu, (character) =>
    byteEscaped(character, (value) => `=${value.toString(16).toUpperCase().padStart(2, '0')}`),
  );
}

function byteEscaped(character: string, escaped: (value: number) => string): string {
  return Array.from(Buffer.from(character), escaped).join('');
}

function hexByte(value: number): string {
  return `\\x${value.toString(16).padStart(2, '0')}`;
}

function octalByte(value: number): string {
  return `\\${value.toString(8).padStart(3, '0')}`;
}

/** A text as JSON.stringify writes it between quotes. */
export function jsonEscaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function unicodeEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function percentCode(character: string): string {
  return percentPair(character.charCodeAt(0));
}

/** Percent-encoded like a page in Latin-1; undefined for texts beyond Latin-1. */
function percentLatin(text: string): string | undefined {
  if (/[^\0-\xff]/.test(text)) return undefined;
  return text.replaceAll(/[^\w.~-]/g, (character) => percentPair(character.charCodeAt(0)));
}

/** A text escaped for style sheets. */
function styleEscaped(text: string): string {
  return text.replaceAll(/[^\w]/gu, (character) => `\\${character.codePointAt(0)?.toString(16)} `);
}

/** A text as the legacy function `escape` writes it. */
function legacyEscaped(text: string): string {
  return Array.from({ length: text.length }, (_, index) => {
    const unit = text.charCodeAt(index);
    if (/[\w@*+./-]/.test(text.charAt(index))) return text.charAt(index);
    return unit < 256 ? percentPair(unit) : `%u${unit.toString(16).toUpperCase().padStart(4, '0')}`;
  }).join('');
}

function percentPair(value: number): string {
  return `%${value.toString(16).toUpperCase().padStart(2, '0')}`;
}

function lowerCodes(text: string): string {
  return text.replaceAll(/%[0-9A-F]{2}|\\u[0-9A-F]{4}/g, (match) => match.toLowerCase());
}

function upperCodes(text: string): string {
  return text.replaceAll(
    /%[0-9a-f]{2}|\\u[0-9a-f]{4}/g,
    (match) => match.slice(0, 2) + match.slice(2).toUpperCase(),
  );
}

/** A single-byte decoding that is often confused with UTF-8. */
const windows = new TextDecoder('windows-1252');

/**
 * Non-ASCII text whose UTF-8 was decoded as Latin-1 or Windows-1252 and encoded as UTF-8 again: `Ã¶` for `ö`. Empty for
 * ASCII texts.
 */
export function misread(text: string): string[] {
  if (!/[^\0-\x7f]/.test(text)) return [];
  const bytes = Buffer.from(text);
  return [...new Set([bytes.toString('latin1'), windows.decode(bytes)])];
}
