import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { openStore } from '../../../src/server/compose.ts';
import { startServiceProcess } from '../../helpers/picket-process.ts';
import { quietLogger, temporaryFolder } from '../../helpers/service/service.ts';
import { fairnessSuite } from '../conformance/fairness-suite.ts';

describe('fairness on SQLite', () => fairnessSuite(async () => ({})));

it('has a primary key in every table, without which long transactions on SQLite would lose rows', async () => {
  const folder = temporaryFolder();
  const path = join(folder.path, 'picket.sqlite');
  const store = await openStore({ path, logger: quietLogger });
  await store.close();
  const database = new DatabaseSync(path, { readOnly: true });
  const bare = database
    .prepare(
      `select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'
        and not exists (select 1 from pragma_table_info(sqlite_schema.name) where pk > 0)`,
    )
    .all();
  database.close();
  folder.remove();
  expect(bare).toEqual([]);
});

const rush = 1_500;
const mostUnaccepted = Number(await readFile('/proc/sys/net/core/somaxconn', 'utf8').catch(() => 0));

it.skipIf(mostUnaccepted < rush)('accepts a rush of connections without retries of the caller', async () => {
  await using service = await startServiceProcess();
  const { port } = new URL(service.url);
  const sockets: Socket[] = [];
  process.kill(service.process.pid, 'SIGSTOP');
  try {
    // The kernel alone accepts them, as while the process is busy.
    for (let number = 0; number < rush; number += 1) sockets.push(connect(Number(port), '127.0.0.1'));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    expect(sockets.filter((socket) => socket.readyState === 'open')).toHaveLength(rush);
  } finally {
    for (const socket of sockets) socket.destroy();
    process.kill(service.process.pid, 'SIGCONT');
  }
});
