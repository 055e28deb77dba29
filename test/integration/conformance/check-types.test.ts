import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { definitionSchema, runnableSpec } from '../../../src/checks/contract/definition/definition.ts';
import { checkTypes } from '../../../src/checks/index.ts';
import { icon } from '../../../src/console/elements/icon.ts';
import { runSuite } from './run-suite.ts';
import type { Samples } from './samples/samples.ts';

type Schema = {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly type?: string;
};

const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/checks.md'), 'utf8');

/** The section of docs/reference/checks.md with the name of a type in its heading. */
function sectionOf(name: string): string | undefined {
  return page.split(/^(?=## )/m).find((section) => section.split('\n', 1)[0]?.includes(`\`${name}\``));
}

/** Every field of a schema, as a path and a value of a JSON type it does not allow. */
function* wrongValues(schema: Schema, path: readonly (string | number)[]): Generator<[typeof path, unknown]> {
  const options = schema.anyOf ?? [schema];
  const isStructured = options.some(({ properties, items }) => properties ?? items);
  if (path.length > 0) yield [path, isStructured ? 'text' : { unexpected: true }];
  for (const option of options) {
    for (const [name, field] of Object.entries(option.properties ?? {}))
      yield* wrongValues(field, [...path, name]);
    if (option.items) yield* wrongValues(option.items, [...path, 0]);
  }
}

/** Returns a copy of a body with one value set at a path; missing containers are created. */
function withValue(body: unknown, [key, ...rest]: readonly (string | number)[], value: unknown): unknown {
  if (key === undefined) return value;
  if (typeof key === 'number') return [withValue(Array.isArray(body) ? body[key] : undefined, rest, value)];
  const record = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
  return { ...record, [key]: withValue(record[key], rest, value) };
}

describe.each(checkTypes.map((type) => [type.name, type] as const))('check type %s', (_name, type) => {
  const schema = definitionSchema(type);
  let samples: Samples;
  beforeAll(async () => {
    ({ samples } = (await import(`./samples/${type.route}.ts`)) as { readonly samples: Samples });
  });

  it('has an icon, and one sentence about its purpose', () => {
    expect(String(icon(type.icon))).toContain('<path');
    expect(type.purpose).toMatch(/^[A-Z].{20,88}\.$/);
  });

  it('has a section in docs/reference/checks.md, with its analytics', () => {
    const { route, metrics } = type.analytics;
    const words = [route, ...metrics.map(({ name }) => name)].map((word) => `\`${word}\``);
    const section = sectionOf(type.name) ?? `no heading with \`${type.name}\``;
    expect(words.filter((word) => !section.includes(word))).toEqual([]);
  });

  it('names the fields of its detail that hold names of artifacts, which answers of the API have as addresses', () => {
    const fields = Object.keys((type.detail as unknown as z.ZodObject).shape);
    const ofEvidence = fields.filter((name) => ['pcapDataUrl', 'jobAssets'].includes(name));
    expect(type.artifactFields ?? []).toEqual(expect.arrayContaining(ofEvidence));
  });

  it('has defaults that are valid', () => {
    const definition = schema.parse({ name: 'sample', ...samples.minimal });
    expect(schema.parse(definition)).toEqual(definition);
    expect(type.spec.parse(runnableSpec(type, definition))).toEqual(runnableSpec(type, definition));
  });

  it('refuses a wrong value in each of its fields, and names the field', () => {
    const fields = [...wrongValues(z.toJSONSchema(type.spec, { io: 'input' }) as Schema, [])];
    expect(fields.length).toBeGreaterThan(3);
    for (const [path, value] of fields) {
      const result = schema.safeParse(withValue({ name: 'sample', ...samples.minimal }, path, value));
      const issues = result.error?.issues.map((issue) => issue.path.join('.')) ?? [];
      expect(issues, `${path.join('.')} = ${JSON.stringify(value)}`).toContain(path.join('.'));
    }
  });

  it('refuses values out of bounds, and names the field', () => {
    for (const [field, body] of Object.entries(samples.refused)) {
      const result = schema.safeParse({ name: 'sample', ...body });
      expect(result.error?.issues.map((issue) => issue.path.join('.')) ?? [], field).toEqual([field]);
    }
  });

  // Types that run scripts need browsers and installed runtimes: test/system/conformance/check-types.test.ts
  if (type.load && type.lane === 'probe') describe('runs', () => runSuite(type));
});
