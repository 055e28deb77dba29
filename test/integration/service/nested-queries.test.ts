import pg from 'pg';
import { expect, it } from 'vitest';
import { watchNestedQueries } from '../../helpers/service/nested-queries.ts';

it('the guard of the suites on PostgreSQL hears of the first query that is started inside another', () => {
  const seen: string[] = [];
  const watch = watchNestedQueries(({ message }) => seen.push(message));
  try {
    // Nobody answers a client that is not connected.
    const [one, other] = [new pg.Client(), new pg.Client()];
    void one.query('select 1');
    void other.query('select 2');
    expect(seen).toEqual([]);
    void one.query({ text: 'select 3' });
    expect(seen).toEqual(['a query was started inside another: select 3']);
  } finally {
    watch.restore();
  }
});
