import { randomUUID } from 'node:crypto';
import { systemClock } from '@picket/lib/clock.ts';
import { AppError, type ErrorCode } from '@picket/lib/errors.ts';
import { expect, it } from 'vitest';
import type { PageCall } from '../page.ts';
import { figuresOf } from './figures.ts';

/** A page whose question for figures is refused. */
function refused(code: ErrorCode): PageCall {
  const call = async () => {
    throw new AppError(code, 'The queue is full.');
  };
  const parts = { api: { call }, viewer: { accountId: randomUUID() }, clock: systemClock };
  return { ...parts, request: { log: { warn: () => undefined } } } as unknown as PageCall;
}

it('leaves figures out while the queue for them is full, and fails if they cannot be read', async () => {
  const ids = [randomUUID()];
  expect(await figuresOf(refused('RATE_LIMITED'), ids, new Map())).toEqual(new Map());
  await expect(figuresOf(refused('STORE_UNAVAILABLE'), ids, new Map())).rejects.toThrow('The queue is full.');
});
