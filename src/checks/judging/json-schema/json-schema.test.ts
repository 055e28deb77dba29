import { WorkBudget, WorkExceeded } from '@picket/lib/bounds/work-budget.ts';
import { parseJson } from '@picket/lib/json/json-document.ts';
import { describe, expect, it } from 'vitest';
import { jsonSchemaProblem, maxSchemaLength, schemaMismatch } from './json-schema.ts';

const budget = () => new WorkBudget({ steps: 1000, cpuMs: 250 });
const mismatch = (schema: unknown, value: unknown) => schemaMismatch(JSON.stringify(schema), value, budget());

const order = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  required: ['id', 'items'],
  properties: {
    id: { type: 'string', pattern: '^[A-Z]{2}-\\d+$' },
    at: { type: 'string', format: 'date-time' },
    items: { type: 'array', minItems: 1, items: { $ref: '#/$defs/item' } },
  },
  additionalProperties: false,
  $defs: {
    item: { type: 'object', required: ['price'], properties: { price: { type: 'number', minimum: 0 } } },
  },
};

describe('a document', () => {
  it.each([
    [{ id: 'AB-1', items: [{ price: 1 }] }, null],
    [
      { id: 'AB-1', items: [{ price: 1 }, { price: '2' }] },
      /^items\[1\]\.price: .*"string".*"number".*\/price\/type of/,
    ],
    [{ id: 'ab', items: [{ price: 1 }] }, /^id: .*pattern/],
    [{ items: [{ price: 1 }] }, /^Instance does not have required property "id"/],
    [{ id: 'AB-1', items: [], more: 1 }, /^items: .*too few/],
    [{ id: 'AB-1', items: [{ price: 1 }], more: 1 }, /^Property "more" does not match additional properties/],
    [{ id: 'AB-1', items: [{ price: 1 }], at: 'yesterday' }, /^at: .*date-time/],
    [{ id: 'AB-1', items: [{ price: null }] }, /price/],
    [[], /"array"/],
  ])('%j', (value, expected) => {
    const found = mismatch(order, parseJson(JSON.stringify(value).replace('null', '-1e400')));
    if (expected === null) expect(found).toBeNull();
    else expect(found).toMatch(expected);
  });

  it('is judged by the draft that the schema names', () => {
    const old = { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }] };
    expect(mismatch(old, ['a', 1])).toBeNull();
    expect(mismatch(old, [1])).toMatch(/^\[0\]: /);
    const newer = { prefixItems: [{ type: 'string' }], items: false };
    expect(mismatch(newer, ['a'])).toBeNull();
    expect(mismatch(newer, ['a', 1])).toMatch(/Items did not match/);
    // Draft-07 ignores what is next to a reference, 2020-12 does not.
    const reference = { $ref: '#/definitions/any', type: 'string', definitions: { any: true } };
    expect(mismatch({ ...reference, $schema: 'http://json-schema.org/draft-07/schema#' }, 1)).toBeNull();
    expect(mismatch(reference, 1)).toMatch(/"number"/);
  });

  it('with alternatives fails with the reason of the one that matched best', () => {
    const schema = {
      anyOf: [{ type: 'string' }, { properties: { kind: { const: 'a' }, n: { type: 'number' } } }],
    };
    expect(mismatch(schema, { kind: 'a', n: 'x' })).toMatch(/^n: /);
  });

  it('may have numbers beyond doubles, and any names', () => {
    const value = parseJson('{"a":[9007199254740993,1],"__proto__":{"n":1e400},"\\ud800":1}');
    expect(mismatch({ properties: { a: { items: { type: 'integer' } } } }, value)).toBeNull();
    expect(mismatch({ properties: { a: { items: { maximum: 5 } } } }, value)).toMatch(/^a\[0\]: /);
    expect(mismatch({ additionalProperties: { type: 'array' } }, parseJson('{"\\ud800":1}'))).toMatch(
      /Unicode/,
    );
  });
});

describe('a schema that cannot be used is refused', () => {
  it.each([
    ['not json', /is not JSON/],
    ['[]', /an object, true or false/],
    ['{"$schema":"http://json-schema.org/draft-04/schema#"}', /draft-07 or draft\/2020-12/],
    ['{"$schema":"constructor"}', /draft-07 or draft\/2020-12/],
    ['{"type":"strin"}', /\/type must be one or more of \[null/],
    ['{"properties":{"a":{"minimum":"1"}}}', /\/properties\/a\/minimum must be a number/],
    [
      '{"properties":{"a":{"requird":["b"]}}}',
      /requird is no keyword of JSON Schema; did you mean required\?/,
    ],
    ['{"patternProperties":{"(":{}}}', /not a valid regular expression/],
    ['{"pattern":"["}', /not a valid regular expression/],
    ['{"items":[{}]}', /prefixItems/],
    ['{"allOf":{}}', /must be a list of schemas/],
    ['{"required":"a"}', /must be a list of names/],
    ['{"$ref":"#/$defs/absent"}', /#\/\$defs\/absent is not in the schema/],
    ['{"$ref":"https://example.com/order.json"}', /schemas are not fetched/],
    ['{"$dynamicRef":"#x"}', /is not supported/],
    [
      '{"properties":{"a":{"$ref":"#/components/schemas/O"}},"components":{"schemas":{"O":{"type":"x"}}}}',
      /type must be/,
    ],
    [`{"const":"${'x'.repeat(maxSchemaLength)}"}`, /longer than/],
    [`${'{"not":'.repeat(200)}true${'}'.repeat(200)}`, /nested more than 100/],
    ['{"nullable":true}', /\/nullable is no keyword of JSON Schema; write type/],
  ])('%.60s', (text, expected) => {
    expect(jsonSchemaProblem(text, budget())).toMatch(expected);
  });

  it.each([
    'true',
    '{}',
    '{"$id":"https://example.com/a.json","$ref":"b.json","$defs":{"b":{"$id":"b.json","type":"null"}}}',
    '{"x-note":1,"example":{"id":3},"properties":{"id":{},"type":{"type":"string"}}}',
    '{"$ref":"#/components/schemas/O","components":{"schemas":{"O":{"type":"object"}}}}',
  ])('but not %s', (text) => {
    expect(jsonSchemaProblem(text, budget())).toBeUndefined();
  });
});

describe('a hostile schema ends at the limit of the run', () => {
  const nested = (depth: number) => parseJson(`${'['.repeat(depth)}${']'.repeat(depth)}`);
  it.each([
    ['a reference to itself', { $ref: '#' }, 1],
    ['a recursion deeper than the stack', { items: { $ref: '#' } }, nested(100_000)],
    ['a pattern that backtracks', { pattern: '^(a+)+$' }, `${'a'.repeat(40)}b`],
    ['references that double', doubling(40), 1],
  ])('%s', (_, schema, value) => {
    expect(() => mismatch(schema, value)).toThrow(WorkExceeded);
  });
});

/** Each level applies the next one twice. */
function doubling(levels: number): unknown {
  const reference = (level: number) => ({ $ref: `#/$defs/d${level}` });
  const pairs = Array.from({ length: levels }, (_, level) => [
    `d${level}`,
    level === levels - 1 ? { type: 'null' } : { allOf: [reference(level + 1), reference(level + 1)] },
  ]);
  return { $defs: Object.fromEntries(pairs), ...reference(0) };
}
