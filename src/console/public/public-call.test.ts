import { AppError } from '@picket/lib/errors.ts';
import { expect, it } from 'vitest';
import { isBetterOld } from './public-call.ts';

it('prefers an old page to an internal error or a rate limit, but not to other errors', () => {
  expect(isBetterOld(new AppError('STORE_UNAVAILABLE', 'away'))).toBe(true);
  expect(isBetterOld(new AppError('RATE_LIMITED', 'too many'))).toBe(true);
  expect(isBetterOld(new TypeError('a bug'))).toBe(true);
  expect(isBetterOld(new AppError('NOT_FOUND', 'gone'))).toBe(false);
  expect(isBetterOld(new AppError('BAD_TOKEN', 'closed'))).toBe(false);
});
