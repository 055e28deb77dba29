import pg from 'pg';
import { expect, it } from 'vitest';
import { watchNestedQueries } from '../../helpers/service/nested-queries.ts';

it('the guard of the suites on PostgreSQL detects the first query that is started inside another', () => {
  const seen: string[] = [];
  const watch = watchNestedQueries(({ message }) => seen.push(message));
  try {
    // A client that is not connected gets no response.
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
