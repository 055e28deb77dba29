import { ThreadStarved } from '@picket/lib/bounds/cpu-limit.ts';
import { parseJson } from '@picket/lib/json/json-document.ts';
import { describe, expect, it } from 'vitest';
import { type Assertion, type Comparison, failureCode } from './assertion.ts';
import { evaluateAssertions, type SourceValue } from './evaluate.ts';
import { judge } from './verdict.ts';

const verdictInput = { responseTimeMs: 1, degradedResponseTime: null, maxResponseTime: null };

function evaluated(source: SourceValue, assertion: Partial<Assertion>) {
  const full = {
    source: 'S',
    property: '',
    comparison: 'EQUALS',
    target: '',
    regex: '',
    ...assertion,
  } as const;
  const [result] = evaluateAssertions([full], { S: () => source });
  if (!result) throw new Error('nothing was evaluated');
  return result;
}

const passes = (source: SourceValue, assertion: Partial<Assertion>) =>
  evaluated(source, assertion).error === null;
const value = (found: unknown): SourceValue => ({ kind: 'value', value: found });
const json = (document: unknown): SourceValue => ({ kind: 'json', document });
const text = (found: string): SourceValue => ({ kind: 'text', text: found });
const headers: SourceValue = {
  kind: 'headers',
  headers: { 'content-type': 'text/html; charset=utf-8', 'x-n': '7' },
};

describe('results that must not be shown or cannot be stored', () => {
  const withCookie: SourceValue = { kind: 'headers', headers: { 'set-cookie': 'sid=very-secret', a: 'b' } };

  it('compares credential headers without revealing them', () => {
    expect(
      evaluated(withCookie, { property: 'Set-Cookie', comparison: 'CONTAINS', target: 'very' }),
    ).toMatchObject({
      actual: '*********',
      error: null,
    });
    const failed = evaluated(withCookie, { property: 'set-cookie', target: 'other' });
    expect(failed.error).toBe('expected other, received *********');
    const all = evaluated(withCookie, { comparison: 'IS_EMPTY' });
    expect(JSON.stringify(all)).not.toContain('very-secret');
    expect(all.actual).toEqual({ 'set-cookie': '*********', a: 'b' });
  });

  it('keeps targets that are not finite numbers as written', () => {
    expect(evaluated(value(5), { comparison: 'LESS_THAN', target: '1e999' })).toMatchObject({
      target: '1e999',
      error: null,
    });
  });

  it('compares documents at any depth', () => {
    const nested = (inner: string) => `{"a":${'['.repeat(200_000)}${inner}${']'.repeat(200_000)}}`;
    const found = json(parseJson(nested('')));
    expect(evaluated(found, { target: nested('') }).error).toBeNull();
    expect(evaluated(found, { target: nested('1') }).error).toContain('expected');
    expect(evaluated(found, { comparison: 'CONTAINS', target: '[[]]' }).error).toBeNull();
  });
});

describe('comparisons by the type of the value', () => {
  it.each<[unknown, Comparison, string, boolean]>([
    [200, 'EQUALS', '200', true],
    [200, 'EQUALS', ' 200.0 ', true],
    [0, 'EQUALS', '', false],
    [200, 'NOT_EQUALS', '404', true],
    [200, 'GREATER_THAN', '199', true],
    [200, 'GREATER_THAN', '200', false],
    [200, 'LESS_THAN', '201', true],
    [200, 'LESS_THAN', 'many', false],
    ['12', 'GREATER_THAN', '7', true],
    ['', 'LESS_THAN', '7', false],
    ['abc', 'LESS_THAN', '7', false],
    ['Abc', 'EQUALS', 'abc', false],
    ['abc', 'CONTAINS', 'bc', true],
    ['abc', 'NOT_CONTAINS', 'bc', false],
    [true, 'EQUALS', 'true', true],
    [true, 'EQUALS', '1', false],
    [null, 'EQUALS', 'null', true],
    [null, 'IS_NULL', '', true],
    [null, 'NOT_NULL', '', false],
    [undefined, 'IS_NULL', '', true],
    ['', 'IS_EMPTY', '', true],
    [0, 'IS_EMPTY', '', false],
    [false, 'IS_EMPTY', '', false],
    [{}, 'IS_EMPTY', '', true],
    [[], 'IS_EMPTY', '', true],
    [[0], 'NOT_EMPTY', '', true],
    [{ a: 1, b: [2] }, 'EQUALS', '{"b":[2],"a":1}', true],
    [{ a: 1 }, 'EQUALS', 'not json', false],
    [{ a: 1 }, 'CONTAINS', '"a":1', true],
    [{ a: 1 }, 'HAS_KEY', 'a', true],
    [{ a: 1 }, 'HAS_KEY', 'toString', false],
    [{ a: 1 }, 'NOT_HAS_KEY', 'b', true],
    [{ a: 1 }, 'HAS_VALUE', '1', true],
    [{ a: 1 }, 'NOT_HAS_VALUE', '1', false],
    [['x', 3], 'HAS_VALUE', '3', true],
    [['x', 3], 'CONTAINS', '3', true],
    [['xy', 3], 'CONTAINS', 'x', false],
    [{ a: 1 }, 'GREATER_THAN', '0', false],
  ])('%j %s %j is %s', (found, comparison, target, isHeld) => {
    expect(passes(value(found), { comparison, target })).toBe(isHeld);
  });

  it.each<[Comparison, boolean]>([
    ['EQUALS', false],
    ['NOT_EQUALS', true],
    ['CONTAINS', false],
    ['NOT_CONTAINS', true],
    ['HAS_KEY', false],
    ['NOT_HAS_KEY', true],
    ['HAS_VALUE', false],
    ['NOT_HAS_VALUE', true],
    ['GREATER_THAN', false],
    ['LESS_THAN', false],
    ['IS_EMPTY', true],
    ['NOT_EMPTY', false],
    ['IS_NULL', true],
    ['NOT_NULL', false],
  ])('a missing value under %s is %s', (comparison, isHeld) => {
    expect(passes(json({}), { property: '$.missing', comparison, target: '1' })).toBe(isHeld);
  });
});

describe('JSON paths', () => {
  const document = { scores: [1, 5, 2], one: [4], name: 'x', items: [{ id: 1 }, { id: 2 }], empty: [] };

  it('that select several values require all of them to match', () => {
    expect(passes(json(document), { property: '$.scores[*]', comparison: 'LESS_THAN', target: '3' })).toBe(
      false,
    );
    expect(passes(json(document), { property: '$.scores[*]', comparison: 'LESS_THAN', target: '6' })).toBe(
      true,
    );
    expect(passes(json(document), { property: '$.items[?@.id > 1].id', target: '2' })).toBe(true);
  });

  it('that select one array compare its elements, or the whole array with a JSON array', () => {
    const property = '$.scores';
    expect(passes(json(document), { property, comparison: 'LESS_THAN', target: '3' })).toBe(false);
    expect(passes(json(document), { property, target: '[1,5,2]' })).toBe(true);
    expect(passes(json(document), { property, comparison: 'NOT_EQUALS', target: '[1,5]' })).toBe(true);
    expect(passes(json(document), { property, comparison: 'NOT_EMPTY' })).toBe(true);
    expect(passes(json(document), { property: '$.empty', target: '1' })).toBe(false);
    expect(passes(json(document), { property: '$.empty', comparison: 'IS_EMPTY' })).toBe(true);
  });

  it('know .length', () => {
    expect(passes(json(document), { property: '$.scores.length', target: '3' })).toBe(true);
    expect(passes(json(document), { property: '$.name.length', target: '1' })).toBe(true);
  });

  it('may be omitted for the whole document', () => {
    expect(passes(json(document), { comparison: 'HAS_KEY', target: 'scores' })).toBe(true);
  });

  it('that are invalid fail with a reason', () => {
    expect(evaluated(json(document), { property: '$.[', target: '1' }).error).toContain('$.[');
  });
});

describe('big numbers', () => {
  const found = json(parseJson('{"id":9007199254740993,"ids":[9007199254740993],"n":9007199254740992}'));

  it.each<[string, Comparison, string, boolean]>([
    ['$.id', 'EQUALS', '9007199254740993', true],
    ['$.id', 'EQUALS', '9007199254740992', false],
    ['$.id', 'NOT_EQUALS', '9007199254740992', true],
    ['$.id', 'GREATER_THAN', '9007199254740992', true],
    ['$.id', 'LESS_THAN', '9007199254740994', true],
    ['$.n', 'EQUALS', '9007199254740993', false],
    ['$.n', 'EQUALS', '9007199254740992.0', true],
    ['$.ids', 'CONTAINS', '9007199254740992', false],
    ['$.ids', 'EQUALS', '[9007199254740993]', true],
    ['$.ids', 'EQUALS', '[9007199254740992]', false],
    ['$', 'CONTAINS', '"id":9007199254740993', true],
    ['$', 'HAS_VALUE', '9007199254740994', false],
  ])('are compared by all digits: %s %s %s is %s', (property, comparison, target, isHeld) => {
    expect(passes(found, { property, comparison, target })).toBe(isHeld);
  });

  it('are shown with all digits', () => {
    expect(evaluated(found, { property: '$.id', target: '9007199254740992' })).toMatchObject({
      actual: '9007199254740993',
      target: 9007199254740992,
      error: 'expected 9007199254740992, received 9007199254740993',
    });
    expect(evaluated(found, { property: '$.ids', comparison: 'NOT_EMPTY' }).actual).toEqual([
      '9007199254740993',
    ]);
  });
});

describe('an assertion that cannot be evaluated', () => {
  it.each<[Partial<Assertion>, SourceValue]>([
    [{ property: '$.[' }, json({})],
    [{ property: '(' }, text('x')],
    [{ property: 'x-n', regex: '(' }, headers],
    [{ comparison: 'GREATER_THAN', target: 'many' }, value(5)],
  ])('is the fault of the definition: %j', (assertion, source) => {
    const result = evaluated(source, { target: '1', ...assertion });
    expect(result.error).not.toBeNull();
    expect(result[failureCode]).toBe('ASSERTION_INVALID');
    expect(judge({ ...verdictInput, assertions: [result] }).failure).toMatchObject({ owner: 'config' });
    expect(JSON.stringify(result)).not.toContain('ASSERTION_INVALID');
  });

  const million = Array.from({ length: 1_000_000 }, (_, id) => ({ id, name: 'x' }));
  it.each<[Partial<Assertion>, () => SourceValue]>([
    [{ property: "$[?search(@, '(a*)*b')]" }, () => json({ a: `${'a'.repeat(40)}!` })],
    [{ property: `$${'[*,*]'.repeat(25)}` }, () => json(JSON.parse(`${'['.repeat(30)}1${']'.repeat(30)}`))],
    [{ property: '^(a+)+$' }, () => text(`${'a'.repeat(40)}!`)],
    [{ property: '$[*,*,*,*,*,*,*,*]', comparison: 'CONTAINS' }, () => json(million)],
  ])('stays within its bounds and is the fault of the definition: %#', (assertion, source) => {
    const given = source();
    const result = onceServed(() => evaluated(given, { target: '1', ...assertion }));
    expect(result[failureCode]).toBe('ASSERTION_TOO_COSTLY');
    const { failure } = judge({ ...verdictInput, assertions: [result] });
    expect(failure).toMatchObject({ owner: 'config', code: 'ASSERTION_TOO_COSTLY' });
    expect(failure?.message).toContain(result.error);
  });

  it('is bounded by one limit for all assertions of a run', () => {
    const endless = { source: 'S', comparison: 'EQUALS', target: 'x', regex: '' } as const;
    const source = text(`${'a'.repeat(40)}!`);
    const all = Array.from({ length: 20 }, () => ({ ...endless, property: '^(a+)+$' }));
    const errors = onceServed(() => evaluateAssertions(all, { S: () => source })).map(({ error }) => error);
    expect(errors[0]).toContain('took longer than 250 ms');
    expect(errors.at(-1)).toContain('took longer than 1 ms');
  });

  it('does not create a million objects', () => {
    expect(passes(json(million), { property: '$[*].name', target: 'x' })).toBe(true);
    expect(passes(json(million), { comparison: 'CONTAINS', target: '{"id":999999,"name":"x"}' })).toBe(true);
    expect(passes(json(million), { property: '$[*]', comparison: 'NOT_EQUALS', target: '{"id":-1}' })).toBe(
      true,
    );
    expect(passes(json(million), { target: JSON.stringify(million) })).toBe(true);
  });
});

describe('texts', () => {
  it('are compared as a whole, or by the first capture group of the first match', () => {
    expect(passes(text('total: 12 of 99'), { comparison: 'CONTAINS', target: '12' })).toBe(true);
    expect(passes(text('total: 12 of 99'), { property: '(\\d+) of', target: '12' })).toBe(true);
    expect(passes(text('total: 12 of 99'), { property: '\\d+', target: '12' })).toBe(true);
    expect(passes(text('none'), { property: '(\\d+)', comparison: 'IS_NULL' })).toBe(true);
  });

  it('survive regular expressions that never end, and invalid ones', () => {
    const endless = evaluated(text(`${'a'.repeat(40)}!`), { property: '^(a+)+$', target: 'x' });
    expect(endless.error).toContain('took longer than');
    expect(evaluated(text('x'), { property: '(', target: 'x' }).error).toContain(
      'Invalid regular expression',
    );
  });
});

describe('headers', () => {
  it('are found in any case, and narrowed down by a regular expression', () => {
    expect(passes(headers, { property: 'Content-Type', comparison: 'CONTAINS', target: 'html' })).toBe(true);
    expect(passes(headers, { property: 'content-type', regex: 'charset=(.*)$', target: 'utf-8' })).toBe(true);
    expect(passes(headers, { property: 'X-N', comparison: 'GREATER_THAN', target: '6' })).toBe(true);
    expect(passes(headers, { property: 'x-missing', comparison: 'NOT_NULL' })).toBe(false);
    expect(passes(headers, { comparison: 'HAS_KEY', target: 'x-n' })).toBe(true);
    expect(passes(headers, { comparison: 'HAS_KEY', target: 'Content-Type' })).toBe(true);
    expect(passes(headers, { comparison: 'NOT_HAS_KEY', target: 'Content-Type' })).toBe(false);
    expect(evaluated(headers, { comparison: 'HAS_KEY', target: 'X-N' }).target).toBe('X-N');
  });
});

describe('an evaluated assertion', () => {
  it('shows the actual value and why it did not match', () => {
    expect(evaluated(value(503), { target: '200' })).toEqual({
      source: 'S',
      property: '',
      comparison: 'EQUALS',
      target: 200,
      regex: '',
      actual: 503,
      error: 'expected 200, received 503',
    });
    expect(evaluated(value(200), { target: '200' }).error).toBeNull();
  });

  it('keeps the actual value short', () => {
    const { actual } = evaluated(value('x'.repeat(1_000_000)), { comparison: 'NOT_EMPTY' });
    expect(String(actual).length).toBeLessThan(5000);
  });

  it('fails for a source that the check does not have, or cannot provide', () => {
    const [unknown] = evaluateAssertions(
      [{ source: 'OTHER', property: '', comparison: 'NOT_EQUALS', target: '', regex: null }],
      {},
    );
    expect(unknown?.error).toContain('OTHER');
    const missing: SourceValue = { kind: 'unavailable', reason: 'body is not JSON' };
    expect(evaluated(missing, { comparison: 'NOT_EQUALS' }).error).toBe('body is not JSON');
  });

  it('never stops the following ones', () => {
    const all = evaluateAssertions(
      ['1', '2', '3'].map((target) => ({
        source: 'S',
        property: '',
        comparison: 'EQUALS' as const,
        target,
        regex: '',
      })),
      { S: () => value(3) },
    );
    expect(all.map(({ error }) => error === null)).toEqual([false, false, true]);
  });
});

/** Repeats a search until this thread gets enough CPU time for it. */
function onceServed<Result>(find: () => Result): Result {
  for (;;) {
    try {
      return find();
    } catch (thrown) {
      if (!(thrown instanceof ThreadStarved)) throw thrown;
    }
  }
}

describe('JSON schemas', () => {
  const document = json({ items: [{ price: 1 }, { price: 'x' }], at: null });
  const price = JSON.stringify({ type: 'object', properties: { price: { type: 'number' } } });
  const matching = { comparison: 'MATCHES_SCHEMA', target: price } as const;

  it('name the place and the reason of the first mismatch', () => {
    const { error } = evaluated(document, { ...matching, property: '$.items[*]' });
    expect(error).toMatch(/^does not match the JSON schema: price: .*"string".*"number"/);
    expect(passes(document, { ...matching, property: '$.items[0]' })).toBe(true);
    expect(evaluated(document, { ...matching, property: '$.none' }).error).toMatch(
      /^expected JSON that matches/,
    );
  });

  it('that cannot be used are the fault of the check', () => {
    const unusable = evaluated(document, { ...matching, target: '{"type":1}' });
    expect(unusable[failureCode]).toBe('ASSERTION_INVALID');
    const endless = evaluated(document, { ...matching, target: '{"$ref":"#"}' });
    expect(endless[failureCode]).toBe('ASSERTION_TOO_COSTLY');
  });

  it('of any length leave a result of bounded length', () => {
    const long = JSON.stringify({ type: 'string', $comment: 'x'.repeat(100_000) });
    expect(JSON.stringify(evaluated(document, { ...matching, target: long })).length).toBeLessThan(10_000);
  });
});

describe('ages', () => {
  const at = (ageMs: number) => new Date(Date.now() - ageMs).toISOString();

  it('of headers, texts and JSON values', () => {
    const young = { comparison: 'AGE_LESS_THAN', target: '10 min' } as const;
    const modified: SourceValue = { kind: 'headers', headers: { 'last-modified': new Date().toUTCString() } };
    expect(passes(modified, { ...young, property: 'Last-Modified' })).toBe(true);
    expect(passes(text(`built at ${at(60_000)}.`), { ...young, property: 'at (\\S+Z)' })).toBe(true);
    const rows = json({ rows: [{ at: at(0) }, { at: at(3_600_000) }] });
    expect(evaluated(rows, { ...young, property: '$.rows[*].at' }).error).toMatch(
      /^expected a time less than 10 min ago, received "?\d.*, which was 1 h ago by the clock/,
    );
    expect(passes(rows, { property: '$.rows[1].at', comparison: 'AGE_GREATER_THAN', target: '30m' })).toBe(
      true,
    );
    expect(evaluated(rows, { ...young, property: '$.none' }).error).toMatch(/neither an HTTP date/);
    expect(evaluated(rows, { ...young, target: '10' })[failureCode]).toBe('ASSERTION_INVALID');
  });
});
