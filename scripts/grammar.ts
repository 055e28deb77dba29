/**
 * The grammar of texts that people read: `node scripts/grammar.ts [FILE…]`, a step of `npm run lint`. Each pattern is a turn of
 * phrase that English of the field does not use. Strings, templates and comments are checked; words.ts has single words.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commentsOf, textsOf } from './texts.ts';

/** Where a sentence or a label begins: at the start, after a full stop, an HTML tag or a colon. */
const start = '(?:^|[.!?:;|] )';

export const patterns: readonly { readonly pattern: RegExp; readonly use: string }[] = [
  { pattern: /\b[Nn]obody\b/, use: 'no user, no agent, no one; or say what happens' },
  { pattern: /\b(?:is|are|was|were) none\b(?! of\b)/i, use: 'no X; is not a X' },
  { pattern: /\bany more\b(?! than\b)/i, use: 'no longer' },
  { pattern: new RegExp(`${start}Who [a-z]+s\\b(?! it\\?)`), use: 'a noun: "Visitors …", "Members …"' },
  {
    pattern: new RegExp(`${start}What (?!is\\b[^.]*\\?)[a-z][^?]*$`),
    use: 'a noun: "Reason", "Message", "Destinations that …"',
  },
  { pattern: /\bof (?:which|what|whom)\b/i, use: 'a noun: "object", "share of due slots"' },
  {
    pattern: /\bon (?:its|their|the) way\b|\b(?:neither|either|another|in the|the only) way\b/i,
    use: 'in progress; route or path; the thing by its name',
  },
  {
    pattern:
      /\b(?:target|server|host|router|hop|resolver|model|service|location)s? (?:is|are|was|were) (?:not )?asked\b|\basked for\b/i,
    use: 'contacted, requested',
  },
];

const root = join(import.meta.dirname, '..');

/** Bad turns of phrase in the texts of a file, as `file:line: words: use …`. */
export function grammarHits(file: string, source: string): readonly string[] {
  // Texts in tests and scripts are often data.
  const texts = /^src\/.*(?<!\.test)\.ts$|^src\/.*\.[cm]js$/.test(file) ? textsOf(source) : [];
  return [...texts, ...commentsOf(source)].flatMap(({ line, words }) =>
    patterns.flatMap(({ pattern, use }) => {
      const [found] = pattern.exec(words) ?? [];
      return found === undefined
        ? []
        : [`${file}:${line}: "${found.trim()}" in "${words.slice(0, 160)}": use ${use}`];
    }),
  );
}

if (import.meta.main) {
  const named = process.argv.slice(2);
  const files = named.length > 0 ? named : globSync('{src,test,scripts}/**/*.{ts,cjs,mjs}', { cwd: root });
  // Texts of earlier builds stay as they were.
  const read = files.filter((file) => !/\/older-agents\.ts$/.test(file));
  const problems = read.sort().flatMap((file) => grammarHits(file, readFileSync(join(root, file), 'utf8')));
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length > 0 ? 1 : 0;
}
