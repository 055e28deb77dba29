import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { findUnknownFields } from './unknown-fields.ts';

const Shape = z.object({
  name: z.string(),
  request: z.object({ url: z.string(), tries: z.int().default(1) }).prefault({ url: '' }),
  assertions: z
    .array(z.object({ source: z.string() }))
    .nullable()
    .default([]),
  labels: z.record(z.string(), z.object({ text: z.string() })).optional(),
  free: z.looseObject({}).optional(),
  anything: z.unknown(),
  retry: z
    .codec(z.object({ only: z.string() }), z.object({ only: z.array(z.string()) }), {
      decode: ({ only }) => ({ only: [only] }),
      encode: ({ only }) => ({ only: only[0] ?? '' }),
    })
    .nullable()
    .optional(),
});

const paths = (value: unknown, ...more: z.ZodType[]) =>
  findUnknownFields([Shape, ...more], value).map(({ path }) => path.join('.'));

describe('unknown fields', () => {
  it('are found at any depth, each with the name that was meant', () => {
    const value = { nam: 1, request: { urll: 1 }, assertions: [{}, { sorce: 1 }], labels: { a: { txt: 1 } } };
    expect(findUnknownFields([Shape], value)).toEqual([
      { path: ['nam'], nearest: 'name' },
      { path: ['request', 'urll'], nearest: 'url' },
      { path: ['assertions', 1, 'sorce'], nearest: 'source' },
      { path: ['labels', 'a', 'txt'], nearest: 'text' },
    ]);
  });

  it('are not reported if any key, or any value, is allowed, or a value has another type', () => {
    const value = { free: { x: 1 }, anything: { y: { z: 1 } }, request: 'text', assertions: { 0: 1 } };
    expect(paths(value)).toEqual([]);
  });

  it('are not reported if one of several schemas knows them', () => {
    expect(paths({ id: 1, request: { at: 1 } })).toEqual(['id', 'request.at']);
    const shown = z.object({ id: z.int(), request: z.object({ at: z.int() }) });
    expect(paths({ id: 1, request: { at: 1 } }, shown)).toEqual([]);
  });

  it('are searched for in the branch that a discriminator selects', () => {
    const union = z.discriminatedUnion('type', [
      z.object({ type: z.literal('A'), left: z.int() }),
      z.object({ type: z.literal('B'), right: z.int() }),
    ]);
    const found = (value: unknown) => findUnknownFields([union], value).map(({ path }) => path.join('.'));
    expect(found({ type: 'A', right: 1 })).toEqual(['right']);
    expect(found({ type: 'C', left: 1, right: 1, up: 1 })).toEqual(['up']);
  });

  it('do not count if they are declared as ignored', () => {
    const ignored = new Set(['assertions.*.order', 'createdAt']);
    const value = { createdAt: 1, assertions: [{ order: 1 }], order: 1 };
    expect(findUnknownFields([Shape], value, ignored).map(({ path }) => path.join('.'))).toEqual(['order']);
  });

  it('are bounded', () => {
    const value = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`key${index}`, 1]));
    expect(findUnknownFields([Shape], value)).toHaveLength(100);
  });
});
