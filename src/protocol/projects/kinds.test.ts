import { expect, it } from 'vitest';
import { z } from 'zod';
import { ManagedFields } from '../http/managed-fields.ts';
import { titlesOf } from './kind.ts';
import { folders, kindIn, kinds } from './kinds.ts';

it('lists each kind after the kinds that it refers to', () => {
  const wrong = kinds.flatMap(({ folder, references }, at) =>
    references.flatMap(({ file, to }) =>
      kinds.indexOf(kindIn(to)) <= at ? [] : [`${folder}: ${file} names ${to}, which comes later`],
    ),
  );
  expect(wrong).toEqual([]);
});

it('lists each type and each folder once, and each place in the order of deletions', () => {
  const places = kinds.flatMap(({ deletedFirst }) => deletedFirst ?? []);
  for (const names of [folders, kinds.map(({ type }) => type), places]) {
    expect(new Set<unknown>(names).size).toBe(names.length);
  }
});

it('shows the project of each in its responses', () => {
  const silent = kinds.flatMap(({ type, routes: { get } }) => {
    const { response } = get;
    if (!(response instanceof z.ZodObject)) return [];
    const { project, logicalId } = ManagedFields;
    return response.shape.project === project && response.shape.logicalId === logicalId ? [] : [type];
  });
  expect(silent, 'put ...ManagedFields into what answers show').toEqual([]);
});

it('names resources as users do', () => {
  expect(titlesOf({ id: 1, title: 'On call', text: 'Ask the ring.' })).toEqual(['On call']);
  expect(titlesOf({ type: 'EMAIL', config: { address: 'ops@example.com' } })).toEqual(['ops@example.com']);
});
