/** Shorter secrets are not searched for: they would match by chance and destroy results. */
export const minSecretLength = 6;
/** Longer values are documents rather than secrets; a check variable cannot be that long. */
export const maxSecretLength = 128 * 1024;

/** Values that occur in most texts; masking them would hide everything and protect nothing. */
const neverSecret: ReadonlySet<string> = new Set(['https://', 'http://', '/artifact/']);

/** One short word of letters, which any text may contain within a longer word. */
const word = /^[A-Za-z][a-z]{0,7}$/;

/** Reason why a secret's value is not removed from results, logs and files, or not everywhere. */
export type WeakReason = 'short' | 'long' | 'common' | 'word';

/** Whether a trimmed secret is an ordinary word, so that parts of other words match it: `locked` in `blocked`. */
export function isWord(secret: string): boolean {
  return word.test(secret.trim());
}

/** Whether a secret's value is long and special enough to search for. */
export function isMaskable(secret: string): boolean {
  const reason = weakReason(secret);
  return reason === undefined || reason === 'word';
}

/** Returns why a trimmed secret is not fully removed, or undefined if it is removed in any form. */
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

/** Returns the warning about a weak secret, without its value. @param name of the variable or the field. */
export function weakSecretText(name: string, reason: WeakReason): string {
  return `The value of ${name} ${reasons[reason]}. If it is a secret, choose another value.`;
}
