/** The spellings that bodies have which are then put into Base64 as a whole: plain, JSON, URL, form, HTML. */
export function bodySpellings(text: string): Set<string> {
  const wellFormed = text.toWellFormed();
  const json = jsonEscaped(text);
  return new Set([
    text,
    json,
    json.replaceAll(/[^\x20-\x7e]/g, unicodeEscape),
    encodeURIComponent(wellFormed),
    formEncoded(wellFormed),
    htmlEscaped(text),
  ]);
}

/**
 * The usual spellings of a text, each applied to the whole of it: as it is, escaped for JSON (once to three
 * times), for URLs, forms, HTML, XML and shells.
 */
export function spellings(text: string): string[] {
  const wellFormed = text.toWellFormed();
  const json = jsonEscaped(text);
  const component = encodeURIComponent(wellFormed);
  const strict = component.replaceAll(/[!'()*~]/g, percentCode);
  const form = formEncoded(wellFormed);
  const html = htmlEscaped(text);
  const asciiJson = json.replaceAll(/[^\x20-\x7e]/g, unicodeEscape);
  const latin = percentLatin(text);
  const all = [
    text,
    json,
    asciiJson,
    json.replaceAll('/', String.raw`\/`),
    component,
    form,
    strict,
    html,
    jsonEscaped(json),
    jsonEscaped(asciiJson),
    jsonEscaped(jsonEscaped(json)),
    encodeURI(wellFormed),
    encodeURIComponent(component),
    encodeURIComponent(form),
    ...(latin === undefined ? [] : [latin, latin.replaceAll('%20', '+')]),
    text.replaceAll(/[&<>]/g, (character) => htmlEntities[character] ?? character),
    html.replaceAll('&#39;', '&apos;'),
    html.replaceAll('&#39;', '&#x27;'),
    text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`),
    jsonEscaped(html),
    jsonEscaped(component),
    text.replaceAll("'", `'\\''`),
    text.replaceAll("'", `'"'"'`),
    jsonEscaped(text.replaceAll("'", `'\\''`)),
    jsonEscaped(text.replaceAll("'", `'"'"'`)),
    text.replaceAll(/[^\w\n]/gu, (character) => `\\${character}`),
    text.replaceAll(/["$`\\]/g, (character) => `\\${character}`),
    legacyEscaped(text),
  ];
  return [...new Set(all.flatMap((spelling) => [spelling, lowerCodes(spelling), upperCodes(spelling)]))];
}

/** Spellings of encoders that leave no character alone. */
export function completeSpellings(text: string): string[] {
  const pairs = Buffer.from(text).toString('hex').replaceAll(/../g, '%$&');
  const points = Array.from(text, (character) => character.codePointAt(0) ?? 0);
  const references = points.map((point) => `&#x${point.toString(16)};`).join('');
  const escapes = text.replaceAll(/[\s\S]/g, unicodeEscape);
  const bytes = pairs.replaceAll('%', String.raw`\x`);
  return [
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

/** What is made of a text that becomes a part of a file name: ours, and Playwright's. */
export function nameSpellings(text: string): string[] {
  const names = [
    text.replaceAll(/[^A-Za-z0-9_-]+/g, '-'),
    // Whatever is not a letter, a digit or beyond ASCII.
    text.replaceAll(/[\0-,./:-@[-`{-\x7f]+/g, '-'),
  ];
  return names.filter((name) => name !== text && name.replaceAll('-', '').length >= minNameLength);
}

/** Names that keep less of a secret than this say nothing about it, and would be found by chance. */
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

/** Percent-encoded as a page in Latin-1 does it; undefined for texts beyond Latin-1. */
function percentLatin(text: string): string | undefined {
  if (/[^\0-\xff]/.test(text)) return undefined;
  return text.replaceAll(/[^\w.~-]/g, (character) => percentPair(character.charCodeAt(0)));
}

/** What the `escape` of old scripts makes of a text. */
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
