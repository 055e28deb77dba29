import { describe, expect, it } from 'vitest';
import { wordHits, words } from '../../scripts/words.ts';

describe('the word list', () => {
  it('finds words in prose of documents, with file and line', () => {
    expect(wordHits('docs/a.md', '# Title\n\nPeople are told of sick locations.\n')).toEqual([
      'docs/a.md:3: "sick": use unhealthy',
      'docs/a.md:3: "told": use is notified, reported, shown, distinguished',
    ]);
  });

  it('ignores code in documents, and released parts of the changelog', () => {
    expect(wordHits('docs/a.md', 'See `location.sick`.\n\n```sh\necho told\n```\n')).toEqual([]);
    expect(wordHits('docs/a.md', 'A.\n\n```sh\ntold\n```\n\nTold.\n\n```sh\ntold\n```\n')).toEqual([
      'docs/a.md:7: "Told": use is notified, reported, shown, distinguished',
    ]);
    const changelog = '# Changelog\n\n## Unreleased\n\n- Mended.\n\n## 7.0.0\n\n- Mended.\n';
    expect(wordHits('CHANGELOG.md', changelog)).toEqual(['CHANGELOG.md:5: "Mended": use fix']);
  });

  it('finds them in comments and sentences of code, not in names', () => {
    const code = [
      '/** Tells of a sick location. */',
      "const sick = { sick: 'sick' };",
      "log.error('the lead was lost'); // mend it",
      'const quoted = /[\'"]/.exec(told);',
      'throw new Error(`${name} is no keeper`);',
    ].join('\n');
    expect(wordHits('src/a.ts', code).map((hit) => hit.split(': use')[0])).toEqual([
      'src/a.ts:1: "sick"',
      'src/a.ts:1: "Tells of"',
      'src/a.ts:3: "the lead"',
      'src/a.ts:3: "mend"',
      'src/a.ts:5: "keeper"',
    ]);
  });

  it('suggests a replacement for every word', () => {
    for (const { use } of words) expect(use).not.toBe('');
  });
});
