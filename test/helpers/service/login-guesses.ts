import { expect } from 'vitest';
import { addMember, newVisitor } from './members.ts';
import type { ServiceHarness } from './service.ts';
import { Visitor } from './visitor.ts';

/**
 * Guesses passwords until guesses are refused, each at the next of several processes that share a database.
 *
 * @param next returns the process; it may restart it.
 */
export async function expectOneCountOfGuesses(
  first: ServiceHarness,
  next: () => Promise<ServiceHarness>,
): Promise<void> {
  await addMember(first, 'ada@example.com', 'ADMIN');
  const tries: number[] = [];
  const email = (index: number) => `somebody-${index}@example.com`;
  for (let index = 0; index < 12; index += 1) {
    const visitor = new Visitor((await next()).app, { address: '192.0.2.7' });
    tries.push((await visitor.post('/login/forgotten', { email: email(index) })).status);
  }
  expect(tries).toEqual([...Array(10).fill(200), 429, 429]);
  // All at once, each from its own address: guesses that wait for each other count, too.
  const guesses = [];
  for (let index = 0; index < 66; index += 1) {
    const guess = { email: 'ada@example.com', password: 'x' };
    guesses.push(newVisitor(await next()).post('/login/password', guess));
  }
  const statuses = (await Promise.all(guesses)).map(({ status }) => status);
  expect(statuses.filter((status) => status !== 429)).toHaveLength(60);
}
