import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { allRoutes } from '../../src/service/http/route-table.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/api-coverage.md'), 'utf8');
const section = (title: string) => page.split(`## ${title}\n`)[1]?.split('\n## ')[0] ?? '';
const quoted = (text: string) => [...text.matchAll(/`([\w/.-]+)`/g)].map(([, word = '']) => word);
const operations = allRoutes.map(({ operationId }) => operationId);

it('names every operation of the table of routes once, and no other', () => {
  const named = quoted(section('Every operation')).filter((word) => !word.includes('/'));
  expect([...named].sort()).toEqual([...operations].sort());
});

it('names tests that are there', () => {
  const files = quoted(page).filter((word) => word.startsWith('test/'));
  expect(files.length).toBeGreaterThan(50);
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});

it('has the twenty operations of spec.md, and does not call missing what is there', () => {
  const rows = [...section('The twenty operations of spec.md').matchAll(/^\| (\d+) \| (.*?) \|/gm)];
  expect(rows.map(([, number]) => Number(number))).toEqual(
    Array.from({ length: 20 }, (_, index) => index + 1),
  );
  for (const [, , operation = ''] of rows.filter(([, , text = '']) => text.startsWith('`'))) {
    expect(operations).toContain(operation.replaceAll('`', ''));
  }
  const routes = new Set(
    allRoutes.map(({ method, path }) => `${method} ${path}`.replaceAll(/\{\w+\}/g, '{}')),
  );
  const missing = [...page.matchAll(/(?:GET|POST|PUT|PATCH|DELETE) \/v\d\/[\w/{}-]+/g)].map(([text]) => text);
  expect(missing.filter((text) => routes.has(text.replaceAll(/\{\w+\}/g, '{}')))).toEqual([]);
});
