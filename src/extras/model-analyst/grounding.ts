/**
 * Judges whether a statement says no more than the evidence, without understanding either: apart from words without
 * meaning of their own, it must consist of passages of the evidence, in their order and without a gap. Every other
 * statement is rejected, however plausible.
 */

/** Words that a statement may add or leave out: they only connect. */
const joining = new Set(
  'a an the is are was were be been being has have had it its this that these those which there and also of in on at with for as but while'.split(
    ' ',
  ),
);
/** Words that negate or limit a sentence: a passage must contain all of them that its sentence has. */
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
/** A shorter passage is a word out of context. */
const minPassage = 3;
const maxPassages = 3;
const maxWords = 60;
/** Characters allowed between words; any other must occur in the evidence. */
const plainMarks = /[\p{L}\p{N}\s.,;:()“”"'’-]/u;

/** A piece of evidence against which a statement is judged. */
export interface EvidenceText {
  readonly id: string;
  readonly text: string;
}

/** Ids of the evidence that a statement consists of; undefined if it says anything else. */
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

/** Tries the longest passages first; statements are short, so backtracking costs little. */
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

/** Sentences end with a mark and a space, or with a line: the dots in `10.0.0.1` and `shop.test` do not end one. */
function sentencesOf(text: string): string[] {
  return text.split(/(?<=[.!?…;])\s+|\n+/).filter((sentence) => sentence.trim() !== '');
}

function tellingWords(text: string): string[] {
  const plain = text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll('’', "'")
    .replaceAll(/(?<=\p{L})n't(?!\p{L})/gu, ' not');
  // A name, address or number is one word, including its inner punctuation and its sign.
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
