import { credentialHeaders } from '../../../judging/credential-headers.ts';

/** A piece of a header's name in one spelling, and a pattern for the part before it. */
export interface NamePiece {
  readonly anchor: string;
  /** Start and end of the piece within the anchor. */
  readonly start: number;
  readonly end: number;
  readonly isCookie: boolean;
  /** Matches a text that ends where the piece begins. */
  readonly before: RegExp;
}

/** Prefixes that distinguish headers with the same ending. */
const prefix = /^(?:x|proxy|set|dd|x-goog|x-shopify|x-forwarded)-(?=[a-z]+-|authorization|cookie)/;
/** Names of up to two parts are spelled in every mix of cases; in longer names all parts have the same case. */
const maxMixedParts = 2;
/** `cookie` alone is short and part of many words: its anchor includes the next character. */
const afterCookie = Array.from(':"\'\\ \t=s');

/**
 * Pieces of the names of headers that carry credentials, in all their cases: the longest ending that names share,
 * because longer anchors make the search faster.
 */
export function namePieces(): NamePiece[] {
  const heads = new Map<string, string[]>();
  for (const name of credentialHeaders) {
    const end = name.replace(prefix, '');
    heads.set(end, [...(heads.get(end) ?? []), name.slice(0, name.length - end.length)]);
  }
  return [...heads].flatMap(([end, all]) => {
    // Lower-case and capitalized names differ only in their first letter.
    const [first, rest] = end.includes('-') ? ['', end] : [end.slice(0, 1), end.slice(1)];
    const before = new RegExp(`(?:^|[^a-z0-9-])(?:${all.join('|')})${first}$`, 'i');
    return spelledCases(rest, first === '').flatMap((piece) => pieceOf(piece, before));
  });
}

function pieceOf(piece: string, before: RegExp): NamePiece[] {
  const { length } = piece;
  if (!/^ookie$/i.test(piece)) return [{ anchor: piece, start: 0, end: length, isCookie: false, before }];
  const firstLetters = piece === 'OOKIE' ? ['C'] : ['c', 'C'];
  return firstLetters.flatMap((letter) =>
    afterCookie.map((next) => ({
      anchor: letter + piece + next,
      start: 1,
      end: 1 + length,
      isCookie: true,
      before,
    })),
  );
}

function spelledCases(text: string, isStart: boolean): string[] {
  const parts = text.split('-');
  const casesOf = (part: string) => [
    part,
    part.slice(0, 1).toUpperCase() + part.slice(1),
    part.toUpperCase(),
  ];
  if (!isStart) return [text, text.toUpperCase()];
  const mixed =
    parts.length > maxMixedParts
      ? [0, 1, 2].map((place) => parts.map((part) => casesOf(part)[place]).join('-'))
      : parts.reduce<string[]>(
          (texts, part) =>
            texts.flatMap((before) => casesOf(part).map((one) => (before === '' ? one : `${before}-${one}`))),
          [''],
        );
  return [...new Set(mixed)];
}
