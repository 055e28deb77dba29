import { afterAll, beforeAll, it } from 'vitest';

/** What the driver calls a query that is started while another one of its connection goes on. */
const nestedQuery = /client\.query\(\)/;

/**
 * The last test of a file whose tests work on PostgreSQL: none of them started a query inside another. The driver warns of
 * that once in a process, will refuse it, and cannot keep such queries apart.
 */
export function expectNoNestedQueries(): void {
  const seen: Error[] = [];
  const listen = (warning: Error) => {
    if (nestedQuery.test(warning.message)) seen.push(warning);
  };
  beforeAll(() => {
    process.on('warning', listen);
  });
  afterAll(() => {
    process.off('warning', listen);
  });
  it('starts no query inside another', () => {
    const [warning] = seen;
    if (warning) throw warning;
  });
}
