import { innerBase64 } from './secret-shapes.ts';
import { bodySpellings, spellings } from './spellings.ts';

/** A longer secret that is cut is recognised by its beginning. */
const maxLength = 16 * 1024;

/** The spellings that texts of results use, of which one may have been cut in the middle. */
export function cutSpellings(secret: string): string[] {
  const text = secret.slice(0, maxLength);
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
