import { query } from 'json-p3';
import { describe, expect, it } from 'vitest';
import { ThreadStarved } from '../bounds/cpu-limit.ts';
import { WorkBudget, WorkExceeded } from '../bounds/work-budget.ts';
import { parseJson } from './json-document.ts';
import { JsonPathError, jsonPathProblem, selectJson as select } from './json-path.ts';

const plenty = { steps: 20_000_000, cpuMs: 250 };
const selectJson = (path: string, from: unknown) => {
  // Repeats if the host had no processor for this thread.
  for (;;) {
    try {
      return select(path, from, new WorkBudget(plenty));
    } catch (thrown) {
      if (!(thrown instanceof ThreadStarved)) throw thrown;
    }
  }
};

const document = {
  a: [1, 2, { b: 'x' }],
  text: 'four',
  length: 7,
  nested: { items: [[], [1]] },
};

describe('JSON paths', () => {
  it.each([
    ['$', [document]],
    ['$.a[2].b', ['x']],
    ['$.a[0:2]', [1, 2]],
    ['$.a[-1:].b', ['x']],
    ['$..b', ['x']],
    ['$.a[?@ > 1]', [2]],
    ['$["text"]', ['four']],
    ['$.missing', []],
    ['$.a[?@>0.5]', [1, 2]],
    ['$.a[?@==0.01E2||@==20.0e-1]', [1, 2]],
    ["$.a[?@.b!='0.5'&&@!=0e1]", [1, 2, { b: 'x' }]],
    ['$.a.length', [3]],
    ['$.text.length', [4]],
    ['$.nested.items[*].length', [0, 1]],
    ['$.length', [7]],
    ['$.missing.length', []],
  ])('%s', (path, expected) => {
    expect(selectJson(path, document)).toEqual(expected);
  });

  it.each(['a.b', '$[', '', '$.a[?(', 'length'])('refuses %j', (path) => {
    expect(() => selectJson(path, document)).toThrow(JsonPathError);
  });

  it.each(['$[?match(@.a, "[a-")]', "$[?search(@, '\\\\d+')]"])(
    'with an invalid regular expression are refused on input: %s',
    (path) => {
      expect(jsonPathProblem(path)).toContain('RFC 9485');
      expect(selectJson(path, ['a', '1'])).toEqual([]);
    },
  );

  it.each(['$', '$.a[?match(@.b, "[a-z]+")]', '$..*', '$.a.length'])('accepts %s', (path) => {
    expect(jsonPathProblem(path)).toBeUndefined();
  });
});

describe('the selection of the package that parses paths', () => {
  const documents: readonly unknown[] = [
    document,
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    { b: { '☺': [1, '☺☺', null], '': false }, a: [[{ x: 1, y: [] }], { x: '1' }, { x: null }, {}], n: -0.5 },
    [{ a: 'ab', p: 'a.' }, { a: 'abc', p: '[a-c]+' }, { a: 1, p: 1 }, { a: '\n', p: '.' }, 'ab', null, true],
    [
      { k: { z: [1, { q: 2 }] }, l: { z: [1, { q: 2 }] } },
      { k: [1], l: [1, 2] },
      { k: 'b', l: 'a' },
      { k: 2 },
    ],
    'text',
    7,
  ];
  const terms = [
    ...['@', '@.a', '@.x', '@.k==@.l', '@.k>@.l', '@.k<=@.l', '@.x==null', '@.x==1', "@.a=='ab'", '@.x!=@.y'],
    ...[
      '@>3',
      '@>=4&&@<8',
      '@<2||@==9',
      '!@.a',
      '!(@.k==@.l)',
      '@.*',
      '@..z',
      '@[?@.x]',
      '@.missing==@.other',
    ],
    ...['length(@)>2', 'length(@.a)==2||@.x', 'count(@.*)==1', 'count(@..*)>3', 'value(@..q)==2', '$[0]==@'],
    ...["match(@.a, 'a.')", "search(@, 'b')", 'match(@.a, @.p)', 'search(@.a, @.p)', "match(@.a, '\\\\d')"],
    ...['(@.k)', '@.k==@.l&&(@.k||@.l)', '@[0]', '@.z[1].q==2', 'true==@', 'null==@.x', "$..['q']"],
  ];
  const steps = [
    ...[
      '.a',
      "['a','b']",
      '[0]',
      '[-1]',
      '[10]',
      '[1:3]',
      '[::-1]',
      '[5:1:-2]',
      '[:2,0,*]',
      '[0,0]',
      '[::0]',
    ],
    ...[
      '.*',
      '..*',
      '..x',
      '..[0]',
      '..[?@.x]',
      "['☺']",
      "['']",
      '[-3:]',
      '[:-2]',
      '[7:2:-1]',
      '[20:-20:-3]',
    ],
    ...terms.map((term) => `[?${term}]`),
  ];
  const paths = [
    '$',
    ...steps.flatMap((step) => [`$${step}`, ...steps.slice(0, 22).map((next) => `$${step}${next}`)]),
  ];

  it(`is selected, in the same order, by ${paths.length} paths`, () => {
    for (const path of paths) {
      for (const from of documents) {
        expect(selectJson(path, from), `${path} of ${JSON.stringify(from)}`).toEqual(
          query(path, from as never).values(),
        );
      }
    }
  });
});

describe('an endless JSON path', () => {
  it('has no limit of depth', () => {
    const deep = parseJson(`${'{"x":['.repeat(100_000)}7${']}'.repeat(100_000)}`);
    expect(selectJson('$..x', deep)).toHaveLength(100_000);
    expect(selectJson('$..[?@==7]', deep)).toEqual([7]);
  });

  it('has no limit of width', () => {
    const wide = Array.from({ length: 1_000_000 }, (_, id) => ({ id }));
    expect(selectJson('$[*].id', wide)).toHaveLength(1_000_000);
    expect(selectJson('$[?@.id==999999]', wide)).toEqual([{ id: 999_999 }]);
  });

  it('evaluates an expression once that is the same for every element', () => {
    const many = Array.from({ length: 5000 }, () => 1);
    expect(selectJson('$[?count($..*)<0]', many)).toEqual([]);
  });

  it.each([
    ['backtracks', "$[?search(@, '(a*)*b')]", { a: `${'a'.repeat(40)}!` }],
    ['multiplies', `$${'[*,*]'.repeat(25)}`, [[[[[[1]]]]]]],
    ['multiplies what stays', `$${'..[*,*]'.repeat(12)}`, Array.from({ length: 20 }, () => [[[[1]]]])],
    ['looks at all for each', '$[?count(@..*)<count($..*)&&length($.x)>@[?@==$]]', []],
    ['asks again and again', `$${'[?@[?@[?@[?@==$.length]]]]'}`, null],
  ])('that %s ends', (_what, path, given) => {
    const rows = Array.from({ length: 60 }, () => 1);
    const grid = (depth: number): unknown =>
      depth === 0 ? rows : Array.from({ length: 60 }, () => grid(depth - 1));
    const from = given ?? grid(3);
    try {
      selectJson(path, from);
    } catch (error) {
      expect(error === undefined || error instanceof WorkExceeded || error instanceof JsonPathError).toBe(
        true,
      );
    }
  });

  it.each([
    ["$[?search(@, '(a*)*b')]", 'took longer than'],
    [`$${'..*'.repeat(20)}`, 'exceeds the limit of'],
  ])('is ended with the reason: %s', (path, reason) => {
    const nested = parseJson(`${'['.repeat(2000)}"${'a'.repeat(40)}!"${']'.repeat(2000)}`);
    const from = path.includes('search') ? [`${'a'.repeat(40)}!`] : nested;
    expect(() => selectJson(path, from)).toThrow(WorkExceeded);
    expect(() => selectJson(path, from)).toThrow(reason);
  });

  it.each([
    `$[?${'('.repeat(5000)}@${')'.repeat(5000)}]`,
    `$[?${'@.a||'.repeat(1900)}@.a]`,
    `$${'[?@'.repeat(2000)}${']'.repeat(2000)}`,
    `$${'.a'.repeat(6000)}`,
  ])('is refused when it is too deep or too long itself: %#', (path) => {
    expect(() => selectJson(path, [[1]])).toThrow(JsonPathError);
  });
});

describe('big numbers', () => {
  const from = parseJson('[{"id":9007199254740992},{"id":9007199254740993},{"id":1e400},{"id":0.1}]');
  it.each([
    ['$[?@.id==9007199254740993].id', ['9007199254740993']],
    ['$[?@.id==9007199254740992].id', ['9007199254740992']],
    ['$[?@.id>9007199254740992].id', ['9007199254740993', '1e400']],
    ['$[?@.id==1e400].id', ['1e400']],
    ['$[?@.id==0.10].id', ['0.1']],
  ])('are compared by their digits: %s', (path, expected) => {
    expect(selectJson(path, from).map(String)).toEqual(expected);
  });
});
