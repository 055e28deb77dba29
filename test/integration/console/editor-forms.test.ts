import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { definitionSchema } from '../../../src/checks/contract/definition/definition.ts';
import { checkTypes } from '../../../src/checks/index.ts';
import { changesOf, draftOf, typedDraft, withRows } from '../../../src/console/editor/draft.ts';
import { checkPlan } from '../../../src/console/editor/sections.ts';
import type { Field } from '../../../src/console/forms/field.ts';
import { defaultOffset } from '../../../src/service/checks/timing/slots.ts';
import { valuesOf } from '../../helpers/service/api-requests/schema-values.ts';
import type { Samples } from '../conformance/samples/samples.ts';

type Entry = Readonly<Record<string, unknown>>;

/** A form as a browser sends it: line ends are CR LF, and boxes are in document order. */
function sent(values: URLSearchParams): URLSearchParams {
  const entries = [...values].map(([name, value]): [string, string] => [
    name,
    value.replaceAll(/\r\n?|\n/g, '\r\n'),
  ]);
  return new URLSearchParams([['csrf', 'x'], ['$do', 'save'], ...entries.reverse(), ['tags.0.', '']]);
}

/** Valid definitions with as many generated values as are valid together. */
function definitionsLike(schema: z.ZodObject, sample: Entry): fc.Arbitrary<Entry> {
  const parts = partsOf(schema.shape);
  return fc.tuple(...parts.map(({ values }) => fc.option(values))).map((values) =>
    values.reduce<Entry>((definition, value, index) => {
      if (value === null) return definition;
      const parsed = schema.safeParse(withValue(definition, parts[index]?.path ?? [], value));
      return parsed.success ? stored(parsed.data as Entry) : definition;
    }, stored(sample)),
  );
}

/** The fields of a definition and of its request, each with its values. */
function partsOf(shape: z.core.$ZodLooseShape, path: readonly string[] = []): Part[] {
  return Object.entries(shape).flatMap(([key, inner]) =>
    inner instanceof z.ZodObject
      ? partsOf(inner.shape, [...path, key])
      : [{ path: [...path, key], values: valuesOf(inner as z.ZodType) }],
  );
}

/** A definition as the service stores it. */
function stored(definition: Entry): Entry {
  const frequencyOffset =
    definition['frequencyOffset'] ?? defaultOffset('id', Number(definition['frequency']));
  return { ...definition, frequencyOffset };
}

interface Part {
  readonly path: readonly string[];
  readonly values: fc.Arbitrary<unknown>;
}

function withValue(container: unknown, [key, ...rest]: readonly string[], value: unknown): unknown {
  if (key === undefined) return value;
  const entry = container as Entry;
  return { ...entry, [key]: withValue(entry[key], rest, value) };
}

function changesOfUntouched(fields: readonly Field[], definition: Entry): Entry {
  const { values } = draftOf(fields, definition);
  return changesOf(typedDraft(fields, sent(values), definition), definition);
}

describe.each(checkTypes.map((type) => [type.name, type] as const))('the form of %s', (_name, type) => {
  const { fields, sections } = checkPlan(type);
  let samples: Samples;
  beforeAll(async () => {
    ({ samples } = (await import(`../conformance/samples/${type.route}.ts`)) as { samples: Samples });
  });

  it('rebuilds a sample from what it shows', () => {
    const definition = definitionSchema(type).parse({ name: 'sample', ...samples.minimal }) as Entry;
    const { values } = draftOf(fields, definition);
    const typed = typedDraft(fields, sent(values)).definition;
    expect(definitionSchema(type).parse(typed)).toEqual(definition);
  });

  it('changes nothing if it is saved unchanged', () => {
    const sample = definitionSchema(type).parse({ name: 'sample', ...samples.minimal }) as Entry;
    fc.assert(
      fc.property(definitionsLike(definitionSchema(type), sample), (definition) => {
        expect(changesOfUntouched(fields, definition)).toEqual({});
      }),
      { numRuns: 40 },
    );
  });

  it('shows every field once, or leaves it unchanged', () => {
    const shown = sections.flatMap((section) => section.fields.map(({ pattern }) => pattern));
    expect(new Set(shown).size).toBe(shown.length);
    const tops = fields.filter(({ kind }) => kind !== 'fixed').map(({ key }) => key);
    const isShown = (key: string) => shown.some((one) => one === key || one.startsWith(`${key}.`));
    expect(tops.filter((key) => !isShown(key))).toEqual([]);
  });
});

describe('what was typed', () => {
  const [type] = checkTypes;
  if (!type) throw new Error('there are no check types');
  const { fields } = checkPlan(type);
  const request = {
    method: 'POST',
    url: 'https://a.test/',
    headers: [{ key: 'a', value: '1', locked: false }],
  };
  const present = definitionSchema(type).parse({
    name: 'one',
    request,
    frequency: 5,
    frequencyOffset: 7,
  }) as Entry;
  const edited = (changes: Readonly<Record<string, string>>) => {
    const form = sent(draftOf(fields, present).values);
    for (const [name, value] of Object.entries(changes)) form.set(name, value);
    return changesOf(typedDraft(fields, form, present), present) as Record<string, Record<string, unknown>>;
  };

  it('is the only change', () => {
    expect(edited({ name: 'two' })).toEqual({ name: 'two' });
    expect(Object.keys(edited({ 'request.url': 'https://b.test/' }))).toEqual(['request']);
  });

  it('is kept if it is not a valid value of its field', () => {
    expect(edited({ maxResponseTime: 'soon' })).toEqual({ maxResponseTime: 'soon' });
    expect(edited({ maxResponseTime: '' })).toEqual({ maxResponseTime: null });
  });

  it('turns an interval of seconds into a frequency of 0, and drops the offset of another', () => {
    expect(edited({ frequency: '0/20' })).toEqual({ frequency: 0, frequencyOffset: 20 });
    expect(edited({ frequency: '30' })).toEqual({ frequency: 30 });
  });

  it('fills rows, and omits empty ones', () => {
    const added = edited({ 'request.headers.1.key': 'b', 'request.headers.3.key': 'c' });
    expect(added['request']?.['headers']).toEqual([
      { key: 'a', value: '1', locked: false },
      { key: 'b', value: '', locked: false },
      { key: 'c', value: '', locked: false },
    ]);
  });

  it('fills a newly selected object with defaults', () => {
    const basic = { 'request.basicAuth': 'object', 'request.basicAuth.username': 'ada' };
    expect(edited(basic)['request']?.['basicAuth']).toEqual({ username: 'ada', password: '' });
    expect(
      edited({ retryStrategy: 'object', 'retryStrategy.type': 'SINGLE_RETRY' })['retryStrategy'],
    ).toEqual({
      type: 'SINGLE_RETRY',
      baseBackoffSeconds: 60,
      sameRegion: true,
    });
  });

  it('keeps the other rows when one is added or removed', () => {
    const values = new URLSearchParams({
      'rows.0.key': 'a',
      'rows.1.key': 'b',
      'rows.2.key': 'c',
      other: 'x',
    });
    expect(Object.fromEntries(withRows(values, 'remove rows 1'))).toEqual({
      'rows.0.key': 'a',
      'rows.1.key': 'c',
      other: 'x',
    });
    expect([...withRows(values, 'add rows').keys()]).toContain('rows.3.');
    expect(withRows(values, 'nonsense').toString()).toBe(values.toString());
  });
});
