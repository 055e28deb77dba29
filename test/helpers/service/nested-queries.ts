import pg from 'pg';
import { afterAll, beforeAll, it } from 'vitest';

/**
 * Reports each query that is started on a connection on which another one goes on. The driver warns of that once in a process,
 * of the third query only, and will refuse it. Ends with `restore`.
 */
export function watchNestedQueries(report: (nested: Error) => void): { restore(): void } {
  const running = new WeakMap<pg.Client, number>();
  const query = pg.Client.prototype.query as (...args: unknown[]) => unknown;
  // Not by a spy: those are taken back after each test.
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const count = running.get(this) ?? 0;
    if (count > 0) report(new Error(`a query was started inside another: ${textOf(args[0])}`));
    running.set(this, count + 1);
    const result = query.apply(this, args);
    const settled = () => running.set(this, (running.get(this) ?? 1) - 1);
    if (result instanceof Promise) result.then(settled, settled);
    else settled();
    return result;
  } as typeof pg.Client.prototype.query;
  return {
    restore: () => {
      pg.Client.prototype.query = query as typeof pg.Client.prototype.query;
    },
  };
}

/** The last test of a file whose tests work on PostgreSQL: none of them started a query inside another. */
export function expectNoNestedQueries(): void {
  const seen: Error[] = [];
  let watch: { restore(): void } | undefined;
  beforeAll(() => {
    watch = watchNestedQueries((nested) => seen.push(nested));
  });
  afterAll(() => {
    watch?.restore();
  });
  it('starts no query inside another', () => {
    const [nested] = seen;
    if (nested) throw nested;
  });
}

function textOf(query: unknown): string {
  if (typeof query === 'string') return query;
  const { text } = query as { readonly text?: unknown };
  return typeof text === 'string' ? text : 'no text';
}
