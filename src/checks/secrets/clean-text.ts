import { mask } from '../judging/credential-headers.ts';
import { masked } from './masking.ts';
import type { SecretFinder } from './secret-finder.ts';
import { minCutBytes } from './shapes/cut-secrets.ts';

/** Longer texts may have been truncated without a mark: bodies, DNS responses. */
export const minLongTextBytes = 60 * 1024;
/** At such an end, at least this much of a secret counts as a match. */
const minCutAtEndBytes = 6;

/** `://user:password@` up to the last at sign. Literal start and bounded length: linear on any text. */
const userInfo = /:\/\/[^\s/?#"'<>\\]{1,1024}@/;
const everyUserInfo = new RegExp(userInfo, 'g');

/** Whether a text contains a URL with user info. */
export function hasUserInfo(text: string): boolean {
  return text.includes('@') && userInfo.test(text);
}

/** Masks secrets, and the user info of URLs. */
export function cleanText(finder: SecretFinder, text: string, isCut = false): string {
  const clean = withoutSecrets(finder, text, isCut);
  return clean.includes('@') ? clean.replaceAll(everyUserInfo, `://${mask}@`) : clean;
}

/**
 * Masks secrets.
 *
 * @param isCut whether the text was truncated, so that it may end within a secret; long texts may always be.
 */
export function withoutSecrets(finder: SecretFinder, text: string, isCut = false): string {
  if (finder.isEmpty || text.length < minCutBytes) return text;
  const bytes = Buffer.from(text);
  const ranges = finder.find(bytes);
  const mayBeCut = isCut || bytes.length >= minLongTextBytes;
  const cutAt = mayBeCut ? finder.cut.beginningBefore(bytes, bytes.length, minCutAtEndBytes) : -1;
  const end = ranges.at(-1)?.end ?? 0;
  if (cutAt >= 0 && end < bytes.length) ranges.push({ start: Math.max(cutAt, end), end: bytes.length });
  return ranges.length === 0 ? text : masked(bytes, ranges, mask).toString();
}
