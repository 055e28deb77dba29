/**
 * Judges whether a statement says no more than evidence does, without understanding either: apart from words that say
 * nothing by themselves, it has to be put together from passages of the evidence, in their order and without a gap.
 * What cannot be shown so counts as not held, however likely it sounds.
 */

/** Words that a statement may add or leave out: they join, and claim nothing. */
const joining = new Set(
  'a an the is are was were be been being has have had it its this that these those which there and also of in on at with for as but while'.split(
    ' ',
  ),
);
/** Words that turn or bound what a sentence says: a passage must hold all of them that its sentence has. */
const turning = new Set([
  'not',
  'no',
  'never',
  'none',
  'nothing',
  'nobody',
  'nowhere',
  'without',
  'neither',
  'nor',
  'cannot',
  'only',
  'unless',
  'except',
  'if',
  'hardly',
  'rarely',
]);
/** A shorter passage is a word taken out of its sentence. */
const minPassage = 3;
const maxPassages = 3;
const maxWords = 60;
/** What may stand between words anyway; any other mark has to be in the evidence. */
const plainMarks = /[\p{L}\p{N}\s.,;:()“”"'’-]/u;

/** A piece of evidence, as a statement is judged against it. */
export interface EvidenceText {
  readonly id: string;
  readonly text: string;
}

/** The ids of the evidence that a statement is put together from; undefined where it says anything else. */
export function groundingOf(
  statement: string,
  evidence: readonly EvidenceText[],
): readonly string[] | undefined {
  const words = tellingWords(statement);
  if (words.length === 0 || words.length > maxWords || !hasOnlyKnownMarks(statement, evidence))
    return undefined;
  const sentences = evidence.flatMap(({ id, text }) =>
    sentencesOf(text).map((sentence) => ({ id, words: tellingWords(sentence) })),
  );
  return cover(words, 0, sentences, maxPassages);
}

type Sentence = { readonly id: string; readonly words: readonly string[] };

/** Longest passages first; the statement is short, so going back where they lead nowhere costs little. */
function cover(
  words: readonly string[],
  from: number,
  sentences: readonly Sentence[],
  left: number,
): readonly string[] | undefined {
  if (from === words.length) return [];
  if (left === 0) return undefined;
  for (let to = words.length; to > from; to -= 1) {
    const holder = sentences.find((sentence) => holds(sentence, words.slice(from, to)));
    if (!holder) continue;
    const rest = cover(words, to, sentences, left - 1);
    if (rest) return [...new Set([holder.id, ...rest])];
  }
  return undefined;
}

function holds({ words }: Sentence, passage: readonly string[]): boolean {
  if (passage.length < Math.min(minPassage, words.length)) return false;
  const turns = words.filter((word) => turning.has(word)).length;
  if (passage.filter((word) => turning.has(word)).length !== turns) return false;
  for (let start = 0; start + passage.length <= words.length; start += 1) {
    if (passage.every((word, index) => words[start + index] === word)) return true;
  }
  return false;
}

/** Sentences end with a mark and a space, or with a line: `10.0.0.1` and `shop.test` have none. */
function sentencesOf(text: string): string[] {
  return text.split(/(?<=[.!?…;])\s+|\n+/).filter((sentence) => sentence.trim() !== '');
}

function tellingWords(text: string): string[] {
  const plain = text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll('’', "'")
    .replaceAll(/(?<=\p{L})n't(?!\p{L})/gu, ' not');
  // Names, addresses and numbers are one word each, with what is inside of them and the sign before them.
  const found = plain.matchAll(
    /(?:(?<![\p{L}\p{N}])[-+](?=\p{N}))?[\p{L}\p{N}]+(?:[.:/_@%+=&?#,'-]+[\p{L}\p{N}]+)*%?/gu,
  );
  return [...found].map(([word]) => word).filter((word) => !joining.has(word));
}

function hasOnlyKnownMarks(statement: string, evidence: readonly EvidenceText[]): boolean {
  for (const letter of statement) {
    if (!plainMarks.test(letter) && !evidence.some(({ text }) => text.includes(letter))) return false;
  }
  return true;
}
