import pg from 'pg';
import { afterAll, beforeAll, it } from 'vitest';

/**
 * Reports each query that is started on a connection while another one is running. The driver warns of that only once
 * per process, at the third query, and will refuse it in future. `restore` ends the watch.
 */
export function watchNestedQueries(report: (nested: Error) => void): { restore(): void } {
  const running = new WeakMap<pg.Client, number>();
  const query = pg.Client.prototype.query as (...args: unknown[]) => unknown;
  // Not a spy: spies are restored after each test.
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

/** Adds the last test of a file whose tests run on PostgreSQL: no query was started inside another. */
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
