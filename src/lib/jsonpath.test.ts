import { describe, expect, it } from 'vitest';
import { JsonPathError, selectJson } from './jsonpath.ts';

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

  it('survives documents nested without end', () => {
    const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);
    try {
      selectJson('$..x', deep);
    } catch (error) {
      expect(error).toBeInstanceOf(JsonPathError);
    }
  });
});
