import { expect, it } from 'vitest';
import { z } from 'zod';
import { lazySchema } from './lazy-schema.ts';

it('makes a schema once, when it is first used', () => {
  let made = 0;
  const Name = lazySchema(() => {
    made += 1;
    return z.string().min(1);
  });
  const Person = lazySchema(() => z.object({ name: Name.schema, aliases: z.array(Name.schema).default([]) }));
  expect(made).toBe(0);
  expect(Person.parse({ name: 'a' })).toEqual({ name: 'a', aliases: [] });
  expect(Person.safeParse({ name: '' }).success).toBe(false);
  expect(Person.shape.name).toBe(Name.schema);
  expect(made).toBe(1);
});

it('makes it again if making it failed', () => {
  let tries = 0;
  const Late = lazySchema(() => {
    tries += 1;
    if (tries === 1) throw new Error('not yet');
    return z.int();
  });
  expect(() => Late.schema).toThrow('not yet');
  expect(Late.parse(1)).toBe(1);
});
