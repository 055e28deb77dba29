/**
 * Checks the words of this project: `node scripts/words.ts [FILE…]`, a step of `npm run lint`. One thing has one name,
 * and it is the one the field uses. Checked are prose of documents, and comments and sentences in code; not code in
 * documents, nor strings without a space, which are names on the wire or in a store.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Words that are not used here, and their replacements. */
export const words: readonly { readonly pattern: RegExp; readonly use: string }[] = [
  { pattern: /\blease[ -]numbers?\b/, use: 'fencing token' },
  { pattern: /\bfencing numbers?\b/, use: 'fencing token' },
  { pattern: /\bspares?\b|\bwaiting (scripts?|process(es)?)\b/, use: 'warm process' },
  { pattern: /(?<!lease[- ])\bkeepers?\b/, use: 'supervisor' },
  { pattern: /\bcensus\b/, use: 'process usage' },
  { pattern: /\bthe lead\b/, use: 'leadership, the leader' },
  { pattern: /\bprolong(s|ed|ing)?\b/, use: 'renew' },
  { pattern: /\bsick(ness)?\b/, use: 'unhealthy' },
  { pattern: /\bwell again\b/, use: 'healthy again' },
  { pattern: /\bown (certificate )?authorit(y|ies)\b/, use: 'custom CA certificates' },
  { pattern: /\btold\b|\btells? (of|apart)\b/, use: 'is notified, reported, shown, distinguished' },
  { pattern: /\bmend(s|ed|ing)?\b/, use: 'fix' },
  { pattern: /\ball the same\b/, use: 'anyway, still' },
  { pattern: /\bso (many|much)\b/, use: 'up to N, that many' },
  { pattern: /\bas such\b/, use: 'the thing by its name' },
  { pattern: /\bwhoever\b|\bwho wants?\b/, use: 'users who, callers that' },
  { pattern: /\bbeside\b/, use: 'next to, in addition to, compared with' },
  { pattern: /\bupkeep\b/, use: 'retention job' },
  { pattern: /\bsweeper\b/, use: 'lease sweep job' },
  { pattern: /\bnot as it could be\b/, use: 'degraded' },
  { pattern: /\bnobody heard of\b/, use: 'that was never sent' },
];

const root = join(import.meta.dirname, '..');
const documents = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', 'docs/**/*.md'];
/** The list itself, and released migrations, which name columns and are frozen. */
const unchecked = ['scripts/words.ts', 'src/platform/store/schema/migrations.ts'];
const sources = ['src/**/*.{ts,cjs,mjs}', 'scripts/**/*.{ts,mjs}'];

/** Disallowed words in a file, as `file:line: word: use …`. */
export function wordHits(file: string, text: string): string[] {
  const prose = file.endsWith('.md') ? proseOfDocument(file, text) : proseOfCode(text);
  return prose.split('\n').flatMap((line, index) =>
    words.flatMap(({ pattern, use }) => {
      const [found] = new RegExp(pattern, 'i').exec(line) ?? [];
      return found === undefined ? [] : [`${file}:${index + 1}: "${found}": use ${use}`];
    }),
  );
}

/** Only the unreleased part of the changelog; in all documents, code is blanked. */
function proseOfDocument(file: string, text: string): string {
  const [, head = text] = file.endsWith('CHANGELOG.md')
    ? (/^([\s\S]*?\n## [\s\S]*?)\n## /.exec(text) ?? [])
    : [];
  return head.replaceAll(/^([ \t]*)(```+)[\s\S]*?^\1\2|`[^`\n]*`|\]\([^)]*\)/gm, blank);
}

/** Comments and strings are kept, everything else is blanked. A regular expression may contain quotes. */
function proseOfCode(text: string): string {
  const parts =
    /(\/\*[\s\S]*?\*\/|\/\/[^\n]*)|('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[\s\S])*`)|\/(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*(?=\s*[.,;)\]}])|[^\n]/g;
  return text.replaceAll(parts, (part, comment?: string, literal?: string) =>
    comment !== undefined || (literal !== undefined && /\s/.test(literal)) ? part : blank(part),
  );
}

function blank(text: string): string {
  return text.replaceAll(/[^\n]/g, ' ');
}

if (import.meta.main) {
  const named = process.argv.slice(2);
  const files = named.length > 0 ? named : globSync([...documents, ...sources], { cwd: root });
  const hits = files
    .filter((file) => !unchecked.includes(file))
    .sort()
    .flatMap((file) => wordHits(file, readFileSync(join(root, file), 'utf8')));
  for (const hit of hits) console.error(hit);
  if (hits.length > 0)
    console.error(`Words that this project does not use: ${hits.length}. See scripts/words.ts`);
  process.exitCode = hits.length > 0 ? 1 : 0;
}
