import { type Anchor, anchorIn, anchorsIn, goodAnchorBytes } from './anchors.ts';
import { base64Shapes, rareBase64Shapes } from './base64-shapes.ts';
import { codeShapes } from './code-shapes.ts';
import { ExactShape, minAnchorBytes, type SecretShape, TolerantShape, type Unit } from './shape.ts';
import {
  completeSpellings,
  jsonEscaped,
  nameSpellings,
  protocolSpellings,
  quotedPrintable,
  spellings,
} from './spellings.ts';
import { SoftBreak, TextUnit } from './text-unit.ts';

/** Longer secrets are documents, which are not written as numbers or encoded twice. */
const maxRareLength = 16 * 1024;
/** Texts are full of such short pieces: used only if a secret has no longer ones. */
const shortAnchorBytes = 2;

/** All forms in which this secret is searched. See docs/explanation/secrets.md for the list. */
export function secretShapes(secret: string): SecretShape[] {
  const isRare = secret.length <= maxRareLength;
  return [
    ...breakableTextShapes(secret),
    ...protocolSpellings(secret).flatMap(textShapes),
    ...base64Shapes(secret),
    ...exactShapes(secret),
    ...(isRare ? [...rareBase64Shapes(secret), ...codeShapes(secret)] : []),
  ];
}

/** The forms in which one line of a multi-line secret is searched. */
export function lineShapes(line: string): SecretShape[] {
  return [...textShapes(line), ...base64Shapes(line)];
}

function textShapes(secret: string): SecretShape[] {
  const characters = Array.from(secret);
  const units = unitsOf(characters);
  const anchor = anchorIn(secret) ?? anchorIn(secret, shortAnchorBytes);
  if (anchor) return [aroundAnchor(secret, units, anchor)];
  // Every piece of it is changed by some encoding: search for one piece in each of its spellings.
  const from = plainestWindow(characters);
  const to = from + windowCharacters;
  return windowSpellings(characters.slice(from, to))
    .filter(({ length }) => length >= minAnchorBytes)
    .map((anchor) => new TolerantShape(units.slice(0, from), anchor, units.slice(to)));
}

/**
 * The secret in a text whose lines may be broken within its anchor, as in mails: found by a second anchor, or without a
 * good one, by each position of a line break within the anchor. Short anchors would slow down the search for all
 * others.
 */
function breakableTextShapes(secret: string): SecretShape[] {
  const units = unitsOf(Array.from(secret));
  const [first, second] = anchorsIn(secret);
  if (first && second && Math.min(first.text.length, second.text.length) >= goodAnchorBytes) {
    const covered = Buffer.from(secret.slice(first.start, second.start));
    return [aroundAnchor(secret, units, first), aroundAnchor(secret, units, second, { covered })];
  }
  return [...textShapes(secret), ...brokenAnchorShapes(secret, units)];
}

function brokenAnchorShapes(secret: string, units: readonly TextUnit[]): SecretShape[] {
  const anchor = anchorIn(secret) ?? anchorIn(secret, shortAnchorBytes);
  if (!anchor) {
    // At least one of two adjacent windows is whole.
    const characters = Array.from(secret);
    return [0, Math.min(windowCharacters, characters.length - windowCharacters)].map((from) => {
      const to = from + windowCharacters;
      const written = quotedPrintable(characters.slice(from, to).join(''));
      return new TolerantShape(softlyBroken(units.slice(0, from)), Buffer.from(written), units.slice(to));
    });
  }
  const { start, text } = { start: anchor.start, text: anchor.text.slice(0, goodAnchorBytes) };
  return Array.from({ length: text.length - 1 }, (_, index) => index + 1).flatMap((place) =>
    softBreaks.map((softBreak) =>
      aroundAnchor(
        secret,
        units,
        { start, text },
        {
          written: text.slice(0, place) + softBreak + text.slice(place),
        },
      ),
    ),
  );
}

/** Line breaks of quoted-printable, in a text and in JSON. */
const softBreaks = ['=\n', '=\r\n', String.raw`=\n`, String.raw`=\r\n`];

function unitsOf(characters: readonly string[]): TextUnit[] {
  const made = new Map<string, TextUnit>();
  return characters.map((character, index) => {
    const unit = made.get(character) ?? new TextUnit(character, { isFirst: index === 0 });
    if (index > 0) made.set(character, unit);
    return unit;
  });
}

/** The part before an anchor: it may end with a line break. */
function softlyBroken(before: readonly TextUnit[]): readonly Unit[] {
  return before.length > 0 ? [...before, new SoftBreak()] : before;
}

/** @param options.written the spelling of the anchor; defaults to the anchor itself. */
function aroundAnchor(
  secret: string,
  units: readonly TextUnit[],
  { start, text }: Anchor,
  options: { readonly written?: string; readonly covered?: Buffer } = {},
): SecretShape {
  // Units are code points.
  const from = Array.from(secret.slice(0, start)).length;
  return new TolerantShape(
    softlyBroken(units.slice(0, from)),
    Buffer.from(options.written ?? text),
    units.slice(from + text.length),
    options.covered,
  );
}

const windowCharacters = 4;

/** Start of the four characters with the fewest that any encoding escapes. */
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

/** With one special character, every spelling of it; with several, the spellings that treat all of them alike. */
function windowSpellings(window: readonly string[]): Buffer[] {
  const special = window.findIndex(isSpecial);
  const isOnlyOne = special >= 0 && !window.slice(special + 1).some(isSpecial);
  const [before, text, after] = isOnlyOne
    ? [window.slice(0, special).join(''), window[special] ?? '', window.slice(special + 1).join('')]
    : ['', window.join(''), ''];
  const all = [...spellings(text), ...completeSpellings(text)].map((spelling) => before + spelling + after);
  const inJson = all.map(jsonEscaped);
  return [...new Set([...all, ...inJson, ...inJson.map(jsonEscaped)])].flatMap((spelling) => [
    Buffer.from(spelling),
    ...latin(spelling),
  ]);
}

/** The Latin-1 bytes of a text if they differ from UTF-8. */
function latin(text: string): Buffer[] {
  return /[\x80-\xff]/.test(text) && !/[^\0-\xff]/.test(text) ? [Buffer.from(text, 'latin1')] : [];
}

function isSpecial(character: string): boolean {
  return !/^[A-Za-z0-9]$/.test(character);
}

/** Little-endian. */
function utf32(text: string): Buffer {
  const points = Array.from(text, (character) => character.codePointAt(0) ?? 0);
  const bytes = Buffer.alloc(4 * points.length);
  for (const [index, point] of points.entries()) bytes.writeUInt32LE(point, 4 * index);
  return bytes;
}

function exactShapes(secret: string): SecretShape[] {
  const utf8 = Buffer.from(secret);
  const utf16 = Buffer.from(secret, 'utf16le');
  const hexes = [utf8, ...latin(secret), utf16].map((bytes) => bytes.toString('hex'));
  const forms = [
    utf16,
    Buffer.from(utf16).swap16(),
    utf32(secret),
    utf32(secret).swap32(),
    ...hexes.flatMap((hex) => [Buffer.from(hex), Buffer.from(hex.toUpperCase())]),
    ...[...completeSpellings(secret), ...nameSpellings(secret)].map((spelling) => Buffer.from(spelling)),
  ];
  return forms.map((bytes) => new ExactShape(bytes));
}
