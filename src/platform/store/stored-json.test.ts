import { afterEach, expect, it } from 'vitest';
import { z } from 'zod';
import { storedJson, type UnreadableValue, unreadableValues } from './stored-json.ts';

const Schema = z.object({
  name: z.string().min(1),
  level: z.enum(['high', 'low']),
  flag: z.boolean().default(true),
  hours: z
    .object({ from: z.string(), zone: z.string().default('UTC') })
    .nullable()
    .default(null),
  tags: z.array(z.string()).default([]),
  steps: z.array(
    z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('wait'), seconds: z.int().default(1) }),
      z.object({ kind: z.literal('say'), text: z.string().default('hello') }),
    ]),
  ),
});
const read = storedJson('things.definition', Schema);

const seen: UnreadableValue[] = [];
const listen = (value: unknown) => void seen.push(value as UnreadableValue);
afterEach(() => {
  unreadableValues.unsubscribe(listen);
  seen.length = 0;
});

it('gives absent fields their defaults, in nested objects, lists and alternatives too', () => {
  const text = JSON.stringify({
    name: 'a',
    level: 'low',
    hours: { from: '08:00' },
    steps: [{ kind: 'say' }, { kind: 'wait' }],
  });
  expect(read(text)).toEqual({
    name: 'a',
    level: 'low',
    flag: true,
    hours: { from: '08:00', zone: 'UTC' },
    tags: [],
    steps: [
      { kind: 'say', text: 'hello' },
      { kind: 'wait', seconds: 1 },
    ],
  });
});

it('keeps values that were valid when written, whatever is refused today', () => {
  const stored = {
    name: '',
    level: 'medium',
    flag: false,
    hours: null,
    tags: ['x'],
    steps: [{ kind: 'old' }],
  };
  expect(read(JSON.stringify(stored))).toEqual(stored);
});

it('gives every reader separate defaults', () => {
  const text = JSON.stringify({ name: 'a', level: 'low', steps: [] });
  read(text).tags.push('x');
  expect(read(text).tags).toEqual([]);
});

it('reports invalid JSON or a wrong type, and reads it as empty', () => {
  unreadableValues.subscribe(listen);
  for (const text of ['{"name":', '[]', 'null', '"sealed"']) {
    expect(read(text)).toMatchObject({ flag: true, hours: null, tags: [] });
  }
  expect(seen.map(({ column }) => column)).toEqual(Array(4).fill('things.definition'));
  expect(storedJson('things.names', z.array(z.string()))('{}')).toEqual([]);
});
