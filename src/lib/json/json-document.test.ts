import { describe, expect, it } from 'vitest';
import { WorkBudget } from '../bounds/work-budget.ts';
import { compareNumbers, ExactNumber, jsonNumber } from './exact-number.ts';
import { JsonTooLarge, parseJson } from './json-document.ts';
import { areJsonEqual, jsonText } from './json-values.ts';

const budget = () => new WorkBudget({ steps: 20_000_000, cpuMs: 250 });

describe('a JSON document', () => {
  it.each([
    '{"a":[1,2.5,-0.1,1e3,"x 12345678901234567890",null,true]}',
    '[1.0,100000000000000000000,0.1,1E2,12345678901234567]',
    '"9007199254740993"',
    '{"\\\\":"\\"9007199254740993, 1e999","__proto__":{"a":1}}',
    ' [ ] ',
  ])('equals the result of JSON.parse, with all digits: %s', (text) => {
    const parsed = parseJson(text);
    expect(JSON.parse(JSON.stringify(parsed))).toEqual(JSON.parse(text));
  });

  it('keeps the digits of numbers that a double cannot represent, and of no others', () => {
    const text =
      '{"a":9007199254740993,"b":[-1e400,9007199254740992,1e2,0.1234567890123456789],"9007199254740993":1}';
    expect(parseJson(text)).toEqual({
      a: new ExactNumber('9007199254740993'),
      b: [new ExactNumber('-1e400'), 9007199254740992, 100, new ExactNumber('0.1234567890123456789')],
      '9007199254740993': 1,
    });
    expect(JSON.stringify(parseJson(text))).toContain('"a":9007199254740993,"b":[-1e400');
  });

  it.each(['{', '[1,]', '12345678901234567890x', '[1e400', "{'a':1}"])(
    'that is invalid is refused: %s',
    (text) => {
      expect(() => parseJson(text)).toThrow(SyntaxError);
    },
  );

  it('with more values than fit in memory is refused before it is parsed', () => {
    expect(() => parseJson(`[${'{},'.repeat(5_000_000)}{}]`)).toThrow(JsonTooLarge);
    const textOfCommas = `["${',[{'.repeat(3_400_000)}"]`;
    expect(parseJson(textOfCommas)).toHaveLength(1);
  });
});

describe('numbers', () => {
  it.each([
    ['9007199254740993', '9007199254740992', 1],
    ['9007199254740993', '9007199254740994', -1],
    ['-9007199254740993', '-9007199254740992', -1],
    ['1e400', '1e401', -1],
    ['-1e400', '1e400', -1],
    ['1e-400', '0', 1],
    ['0.10000000000000000001', '0.1', 1],
    ['9007199254740993.0', '9007199254740993', 0],
    ['12345678901234567890', '12345678901234567890', 0],
    ['1.5', '15e-1', 0],
    ['0', '-0', 0],
  ])('%s and %s compare as %i', (left, right, order) => {
    expect(Math.sign(compareNumbers(jsonNumber(left), jsonNumber(right)))).toBe(order);
    expect(Math.sign(compareNumbers(jsonNumber(right), jsonNumber(left)))).toBe(order === 0 ? 0 : -order);
  });
});

describe('values', () => {
  const deep = (open: string, inner: string, close: string) =>
    parseJson(`${open.repeat(100_000)}${inner}${close.repeat(100_000)}`);

  it('are equal at any depth, with keys in any order', () => {
    expect(areJsonEqual(deep('{"a":[', '1', ']}'), deep('{"a":[', '1', ']}'), budget())).toBe(true);
    expect(areJsonEqual(deep('[', '1', ']'), deep('[', '2', ']'), budget())).toBe(false);
    expect(areJsonEqual({ a: 1, b: [2] }, { b: [2], a: 1 }, budget())).toBe(true);
    expect(areJsonEqual({ a: 1 }, { b: 1 }, budget())).toBe(false);
    expect(areJsonEqual([], {}, budget())).toBe(false);
    expect(areJsonEqual({ constructor: 1 }, { a: 1 }, budget())).toBe(false);
  });

  it('are written like JSON.stringify, up to the wanted length', () => {
    const value = { a: [1, 'ü"\\', null, [], {}], b: undefined, c: { d: true } };
    expect(jsonText(value)).toBe(JSON.stringify(value));
    expect(JSON.stringify(value).startsWith(jsonText(value, 5).slice(0, 5))).toBe(true);
    expect(jsonText('x'.repeat(1_000_000), 10).length).toBeLessThan(20);
    expect(jsonText(deep('[', '', ']')).length).toBe(200_000);
  });
});
