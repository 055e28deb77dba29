import { EnvironmentValue } from '@picket/cli/project/environment-values.ts';
import { expect, it } from 'vitest';
import { Collection } from '../collection.ts';
import { type Loss, Source } from '../source.ts';
import { mysql, postgres } from './databases.ts';

function carried(read: typeof mysql, row: object) {
  const losses: Loss[] = [];
  const source = new Source(row, 'm', losses);
  const look = read(source, new Collection({ location: 'here' } as never), 'shop');
  return { request: look?.fields['request'], losses: losses.map(({ field }) => field) };
}

it.each<readonly [string, typeof mysql, object, object]>([
  [
    'MySQL with its password apart',
    mysql,
    {
      database_connection_string: 'mysql://ad%40@db.test:3307/shop?charset=utf8',
      database_query: 'select 1',
      radius_password: 'p@ss',
    },
    {
      ...{ engine: 'MYSQL', hostname: 'db.test', port: 3307, username: 'ad@', database: 'shop' },
      ...{ query: 'select 1', useSSL: false, password: expect.any(EnvironmentValue) },
    },
  ],
  [
    'MariaDB over TLS',
    mysql,
    { database_connection_string: 'mariadb://ada:x@[::1]/?ssl={"rejectUnauthorized":false}' },
    {
      ...{ engine: 'MYSQL', hostname: '::1', username: 'ada', password: expect.any(EnvironmentValue) },
      ...{ useSSL: true, skipSSL: true },
    },
  ],
  [
    'PostgreSQL',
    postgres,
    { database_connection_string: 'postgres://ada@db.test/shop?sslmode=require' },
    { hostname: 'db.test', username: 'ada', database: 'shop', useSSL: true, skipSSL: true },
  ],
])('carries over %s', (_, read, row, request) => {
  expect(carried(read, row).request).toEqual(request);
});

it('names the options that it leaves out, and takes nothing without a user or of another kind', () => {
  const row = { database_connection_string: 'mysql://ada@db.test/shop?charset=utf8&timezone=Z' };
  expect(carried(mysql, row).losses).toEqual(['m.database_connection_string']);
  for (const text of ['mysql://db.test/shop', 'postgres://ada@db.test', 'no url', '']) {
    expect(carried(mysql, { database_connection_string: text }).request).toBeUndefined();
  }
});
