import { AppError } from '@picket/lib/errors.ts';
import { fieldError, validationError } from '@picket/platform/http/validation.ts';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { problemsOf } from './problems.ts';

it('shows each problem at its field, whatever the texts contain', () => {
  const message = 'must not be "url" or hold; "name" twice';
  const { fields, message: rest } = problemsOf(
    fieldError('payload', [
      { key: 'name', message },
      { key: 'url', message: 'is taken' },
      { key: 'url', message: 'is too long' },
    ]),
  );
  expect([...fields]).toEqual([
    ['name', 'Must not be "url" or hold; "name" twice'],
    ['url', 'Is taken; is too long'],
  ]);
  expect(rest).toBe('');
});

it('shows the whole message if a problem belongs to no field, or there are more than are named', () => {
  const refusal = new AppError('CONFLICT', 'The name is taken.');
  expect(problemsOf(refusal)).toMatchObject({ statusCode: 409, message: 'The name is taken.' });
  const schema = z.record(z.string(), z.number());
  const { error } = schema.safeParse(
    Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`f${at}`, 'x'])),
  );
  const many = problemsOf(validationError('payload', error?.issues ?? []));
  expect(many.fields.size).toBe(20);
  expect(many.message).toContain('and 10 more');
  expect(many.statusCode).toBe(422);
});
