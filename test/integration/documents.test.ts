import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

/** Rows of the reading list: a path and its approximate number of lines. */
function readingList(): { readonly path: string; readonly lines: number }[] {
  const [, section = ''] = read('docs/explanation/architecture.md').split('\n## Day-one reading list\n');
  const [list = ''] = section.split('\n## ');
  return [...list.matchAll(/^\| `([^`]+)` \| ([\d,]+) \|/gm)].map(([, path = '', lines = '']) => ({
    path,
    lines: Number(lines.replace(',', '')),
  }));
}

const linesOf = (file: string) => read(file).split('\n').length - 1;

describe('the reading list of the first day', () => {
  const list = readingList();

  it('names existing files, each once', () => {
    expect(list.length).toBeGreaterThan(30);
    expect(new Set(list.map(({ path }) => path)).size).toBe(list.length);
    expect(list.map(({ path }) => path).filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it('states their approximate length', () => {
    const wrong = list.filter(({ path, lines }) => Math.abs(linesOf(path) - lines) > 25 + lines / 4);
    expect(wrong.map(({ path, lines }) => `${path}: ${linesOf(path)}, not ${lines}`)).toEqual([]);
  });

  it('can be read in a day: 9,500 lines at most', () => {
    const sum = list.reduce((total, { path }) => total + linesOf(path), 0);
    expect(sum).toBeLessThanOrEqual(9_500);
  });
});

describe('decisions', () => {
  it('have at most a page: 300 words', () => {
    const long = globSync('docs/adr/*.md', { cwd: root }).flatMap((file) => {
      const words = read(file)
        .replaceAll(/^```[\s\S]*?^```|^#.*$/gm, '')
        .split(/\s+/)
        .filter((word) => /\w/.test(word)).length;
      return words > 300 ? [`${file}: ${words} words`] : [];
    });
    expect(long).toEqual([]);
  });
});

describe('pages for operators', () => {
  it('have at most 1,200 words, and begin with their purpose', () => {
    const index = read('docs/README.md');
    const [, operators = ''] = /\*\*Install and run\*\*([\s\S]*?)\*\*Monitor\*\*/.exec(index) ?? [];
    const pages = [...operators.matchAll(/\]\((how-to\/[\w-]+\.md)\)/g)].map(([, page]) => `docs/${page}`);
    expect(pages.length).toBeGreaterThan(12);
    const missing: string[] = [];
    for (const page of pages) {
      // Older than this rule, and about more than one task.
      if (/install|people|upgrade|troubleshooting/.test(page)) continue;
      const text = read(page);
      if (text.split(/\s+/).length > 1_200) missing.push(`${page}: too long`);
      if (!/^# .*\n\n(.*\n)?You need this page/.test(text)) missing.push(`${page}: when is it needed?`);
    }
    expect(missing).toEqual([]);
  });
});
