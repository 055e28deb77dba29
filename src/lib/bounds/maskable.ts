/**
 * Secrets shorter than this are not looked for: they would be found by chance and destroy results.
 */
export const minSecretLength = 6;
/** Longer ones are not secrets but documents; a check variable cannot be that long. */
export const maxSecretLength = 128 * 1024;

/** Values that are in most texts anyway; masking them would hide everything and protect nothing. */
const neverSecret: ReadonlySet<string> = new Set(['https://', 'http://', '/artifact/']);

/** One short word of letters, as any text may hold it within a longer one. */
const word = /^[A-Za-z][a-z]{0,7}$/;

/** Why the value of a secret is not removed from results, logs and files, or not everywhere. */
export type WeakReason = 'short' | 'long' | 'common' | 'word';

/** Whether a secret is an ordinary word, white space at its ends aside, so that parts of other words look like it: `locked` in `blocked`. */
export function isWord(secret: string): boolean {
  return word.test(secret.trim());
}

/** Whether a secret's value is long and special enough to be looked for. */
export function isMaskable(secret: string): boolean {
  const reason = weakReason(secret);
  return reason === undefined || reason === 'word';
}

/** White space at the ends does not count. Undefined: it is removed in whatever form it stands there. */
export function weakReason(secret: string): WeakReason | undefined {
  const text = secret.trim();
  if (text.length < minSecretLength) return 'short';
  if (secret.length > maxSecretLength) return 'long';
  if (neverSecret.has(text)) return 'common';
  return isWord(text) ? 'word' : undefined;
}

const reasons: Readonly<Record<WeakReason, string>> = {
  short: `is not masked in results and logs: it is shorter than ${minSecretLength} characters`,
  long: 'is not masked in results and logs: it is longer than 128 KiB',
  common: 'is not masked in results and logs: it is too common there',
  word: 'is masked in results and logs only as a separate word: it is one short word',
};

/** What people read of such a value, without the value. @param name of the variable or the field. */
export function weakSecretText(name: string, reason: WeakReason): string {
  return `The value of ${name} ${reasons[reason]}. If it is a secret, choose another value.`;
}
