import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { raw } from 'hono/html';
import type { Html } from '../html.ts';

const { resolve } = createRequire(import.meta.url);
const read = new Map<string, Html>();

/**
 * Returns an icon of 16 × 16 pixels in the colour of its text, as part of the document. It says nothing to screen
 * readers: a word next to it, or the label of its button, does.
 *
 * @param name of the icon in @primer/octicons, without its size.
 */
export function icon(name: string): Html {
  const known = read.get(name);
  if (known) return known;
  const svg = readFileSync(resolve(`@primer/octicons/build/svg/${name}-16.svg`), 'utf8');
  const made = raw(
    svg.replace(
      /^<svg[^>]*>/,
      '<svg class="icon" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">',
    ),
  );
  read.set(name, made);
  return made;
}
