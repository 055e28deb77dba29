import { describe, expect, it } from 'vitest';
import { migrations } from '../../../src/platform/store/schema/migrations.ts';
import { resourceMigrations } from '../../../src/service/resources/index.ts';
import { resourceSuites } from './resource-suites.ts';

it('number each migration once', () => {
  const numbers = [...migrations, ...resourceMigrations].map(({ name }) => /^\d{4}(?=-)/.exec(name)?.[0]);
  expect(numbers).not.toContain(undefined);
  expect(numbers.filter((number, index) => numbers.indexOf(number) !== index)).toEqual([]);
});

describe('on SQLite', () => {
  resourceSuites(async () => ({}));
});
