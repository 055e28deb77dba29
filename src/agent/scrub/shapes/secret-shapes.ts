import { Base64Unit } from './base64-unit.ts';
import { ExactShape, maxAnchorBytes, minAnchorBytes, type SecretShape, TolerantShape } from './shape.ts';
import { bodySpellings, completeSpellings, nameSpellings, spellings } from './spellings.ts';
import { TextUnit } from './text-unit.ts';

/** What hardly any encoding changes. */
const alphanumeric = /[A-Za-z0-9]+/g;
/**
 * Anchors of this length are found about as fast as longer ones, and the first one keeps what stands before
 * it short.
 */
const goodAnchorBytes = 8;
/** Base64 shorter than this would be found by chance. */
const minBase64Length = 6;

/** Every way in which this secret is looked for. See docs/explanation/secrets.md for the list of forms. */
export function secretShapes(secret: string): SecretShape[] {
  return [...textShapes(secret), ...base64Shapes(secret), ...exactShapes(secret)];
}

function textShapes(secret: string): SecretShape[] {
  const run = anchorIn(secret, alphanumeric);
  const characters = Array.from(secret);
  const units = characters.map((character) => new TextUnit(character));
  if (run) {
    const from = Array.from(secret.slice(0, run.start)).length;
    const to = from + run.text.length;
    return [new TolerantShape(units.slice(0, from), Buffer.from(run.text), units.slice(to))];
  }
  // No piece of it is left alone by all encodings: one is looked for in each of its spellings.
  const from = plainestWindow(characters);
  const to = from + windowCharacters;
  return windowSpellings(characters.slice(from, to))
    .filter(({ length }) => length >= minAnchorBytes)
    .map((anchor) => new TolerantShape(units.slice(0, from), anchor, units.slice(to)));
}

const windowCharacters = 4;

/** Where the four characters begin of which the fewest are escaped anywhere. */
function plainestWindow(characters: readonly string[]): number {
  let best = 0;
  let fewest = Number.POSITIVE_INFINITY;
  for (let start = 0; start + windowCharacters <= characters.length; start += 1) {
    const count = characters.slice(start, start + windowCharacters).filter(isSpecial).length;
    if (count >= fewest) continue;
    fewest = count;
    best = start;
  }
  return best;
}

/**
 * With one special character, every spelling of it; with several, those in which all of them are spelled
 * alike.
 */
function windowSpellings(window: readonly string[]): Buffer[] {
  const special = window.findIndex(isSpecial);
  const isOnlyOne = special >= 0 && !window.slice(special + 1).some(isSpecial);
  const [before, text, after] = isOnlyOne
    ? [window.slice(0, special).join(''), window[special] ?? '', window.slice(special + 1).join('')]
    : ['', window.join(''), ''];
  const all = [...spellings(text), ...completeSpellings(text)].map((spelling) => before + spelling + after);
  return [...new Set(all)].flatMap((spelling) => [Buffer.from(spelling), ...latin(spelling)]);
}

/** The bytes of a text in Latin-1 where they differ from UTF-8. */
function latin(text: string): Buffer[] {
  return /[\x80-\xff]/.test(text) && !/[^\0-\xff]/.test(text) ? [Buffer.from(text, 'latin1')] : [];
}

function isSpecial(character: string): boolean {
  return !/^[A-Za-z0-9]$/.test(character);
}

/**
 * The Base64 of a text that contains the secret, which depends on where in a group of three bytes the secret
 * begins: for each of the three cases the characters that depend on the secret alone. Not only of the secret
 * as it is: a JSON or form body that is put into Base64 holds it escaped.
 */
function base64Shapes(secret: string): SecretShape[] {
  const shapes: SecretShape[] = [];
  const inners = new Set<string>();
  for (const spelling of bodySpellings(secret)) {
    const bytes = Buffer.from(spelling);
    for (const offset of [0, 1, 2]) inners.add(innerBase64(bytes, offset));
  }
  for (const inner of inners) {
    if (inner.length < minBase64Length) continue;
    const anchors = base64Anchors(inner);
    if (anchors.length === 0) {
      const forUrls = inner.replaceAll('+', '-').replaceAll('/', '_');
      shapes.push(new ExactShape(Buffer.from(inner)), new ExactShape(Buffer.from(forUrls)));
    }
    for (const anchor of anchors) {
      const units = (part: string) => Array.from(part, (character) => new Base64Unit(character));
      shapes.push(
        new TolerantShape(
          units(inner.slice(0, anchor.start)),
          Buffer.from(anchor.text),
          units(inner.slice(anchor.start + anchor.text.length)),
        ),
      );
    }
  }
  return shapes;
}

/**
 * The part of the Base64 of a text that depends on these bytes alone, when `offset` (0 to 2) bytes stand
 * before them.
 */
export function innerBase64(bytes: Buffer, offset: number): string {
  const encoded = Buffer.concat([Buffer.alloc(offset), bytes])
    .toString('base64')
    .replaceAll('=', '');
  // Bits of a character next to the secret's own first or last one belong to its neighbours: leave it out.
  return encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
}

/** Shorter ones are hardly ever broken into two lines. */
const minSplitLength = 16;

/** One in each half: a line break inside of one leaves the other whole. */
function base64Anchors(inner: string): { start: number; text: string }[] {
  if (inner.length < minSplitLength) {
    const only = anchorIn(inner, alphanumeric);
    return only ? [only] : [];
  }
  const half = Math.ceil(inner.length / 2);
  const first = anchorIn(inner.slice(0, half), alphanumeric);
  const second = anchorIn(inner.slice(half), alphanumeric);
  return [...(first ? [first] : []), ...(second ? [{ ...second, start: second.start + half }] : [])];
}

function exactShapes(secret: string): SecretShape[] {
  const utf8 = Buffer.from(secret);
  const utf16 = Buffer.from(secret, 'utf16le');
  const hex = utf8.toString('hex');
  const forms = [
    utf16,
    Buffer.from(utf16).swap16(),
    Buffer.from(hex),
    Buffer.from(hex.toUpperCase()),
    ...[...completeSpellings(secret), ...nameSpellings(secret)].map((spelling) => Buffer.from(spelling)),
  ];
  return forms.map((bytes) => new ExactShape(bytes));
}

/** The first good piece of a text to look for, or else the longest; undefined when all are too short. */
function anchorIn(text: string, run: RegExp): { start: number; text: string } | undefined {
  let best: { start: number; text: string } | undefined;
  for (const match of text.matchAll(run)) {
    const found = { start: match.index, text: match[0].slice(0, maxAnchorBytes) };
    if (found.text.length >= goodAnchorBytes) return found;
    if (found.text.length > (best?.text.length ?? minAnchorBytes - 1)) best = found;
  }
  return best;
}

/** A longer secret that is cut is recognised by its beginning. */
const maxCutLength = 16 * 1024;

/** The spellings that texts of results use, of which one may have been cut in the middle. */
export function cutSpellings(secret: string): string[] {
  const text = secret.slice(0, maxCutLength);
  const forms = new Set([...spellings(text), Buffer.from(text).toString('hex')]);
  for (const spelling of bodySpellings(text)) {
    const bytes = Buffer.from(spelling);
    for (const offset of [0, 1, 2]) {
      const inner = innerBase64(bytes, offset);
      forms.add(inner).add(inner.replaceAll('+', '-').replaceAll('/', '_'));
    }
  }
  return [...forms];
}
