import { credentialHeaders } from '@picket/checks/judging/credential-headers.ts';

/** A piece of a header's name as it may be written, and what stands before it in the names that end with it. */
export interface NamePiece {
  readonly anchor: string;
  /** Where the piece begins and ends within the anchor. */
  readonly start: number;
  readonly end: number;
  readonly isCookie: boolean;
  /** Matches a text that ends where the piece begins. */
  readonly before: RegExp;
}

/** Letters that headers with the same end differ in. */
const prefix = /^(?:x|proxy|set|dd|x-goog|x-shopify|x-forwarded)-(?=[a-z]+-|authorization|cookie)/;
/** Names of up to two parts are written in every mix of cases; of longer names all parts are alike. */
const maxMixedParts = 2;
/** `cookie` alone is short, and in many words: it is looked for with what may follow. */
const afterCookie = Array.from(':"\'\\ \t=s');

/**
 * Pieces of the names of headers that carry credentials, in the cases they are written in: the longest end that
 * names have in common, because longer anchors make the search quicker.
 */
export function namePieces(): NamePiece[] {
  const heads = new Map<string, string[]>();
  for (const name of credentialHeaders) {
    const end = name.replace(prefix, '');
    heads.set(end, [...(heads.get(end) ?? []), name.slice(0, name.length - end.length)]);
  }
  return [...heads].flatMap(([end, all]) => {
    // Names in lower case and with a capital have all but their first letter in common.
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
