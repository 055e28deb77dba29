import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createLogger } from '../../../src/lib/log.ts';
import { ServiceConfig } from '../../../src/platform/config/config.ts';
import { openStore } from '../../../src/server/compose.ts';
import { startService } from '../../../src/server/service.ts';
import { quietLogger } from '../../helpers/service/service.ts';
import { closedPort } from '../../helpers/targets/tcp-target.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'picket-start-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('reports a damaged database, and the remedy', async () => {
  const path = join(folder, 'picket.sqlite');
  writeFileSync(path, 'no database at all, but long enough to be read as the head of one. '.repeat(20));
  await expect(openStore({ path, logger: quietLogger })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining(`The database ${path} is damaged or no database`),
  });
});

it('reports host and cause if a database is unreachable, but not the password', async () => {
  const port = await closedPort();
  const databaseUrl = `postgres://user:hush@127.0.0.1:${port}/monitors?sslmode=disable`;
  await expect(openStore({ databaseUrl, path: '', logger: quietLogger })).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: `The database 127.0.0.1:${port}/monitors cannot be used: the connection was refused: nothing listens there.`,
  });
});

it('waits for a database that does not exist yet, reports so, and stops waiting when signalled', async () => {
  const lines: string[] = [];
  const stop = new AbortController();
  const logger = createLogger('test', 'warn', {
    write(line: string) {
      lines.push(line);
      if (lines.length === 2) stop.abort();
    },
  });
  const DATABASE_URL = `postgres://user:hush@127.0.0.1:${await closedPort()}/monitors`;
  const config = ServiceConfig.parse({ DATABASE_URL, DATA_DIR: folder, PORT: '0' });
  await expect(startService({ config, logger, stop: stop.signal })).rejects.toThrow('cannot be used');
  expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
    'database not reachable yet; trying again',
    'database not reachable yet; trying again',
  ]);
});

it.each([
  ['a file', '', { DATA_DIR: 'file' }, /^DATA_DIR: .*a file is where a directory must be/],
  ['below a file', '', { DATA_DIR: 'file/data' }, /^DATA_DIR: .*a file is where a directory must be/],
  [
    'where nothing can be made',
    '',
    { DATA_DIR: '/proc/none/data' },
    /^DATA_DIR: .*no directory can be made there/,
  ],
  [
    'a directory with a foreign lock',
    'service.lock',
    {},
    /^DATA_DIR: .*service\.lock is not a lock file of Picket/,
  ],
  [
    'a directory whose database is one',
    'picket.sqlite/',
    {},
    /^DATA_DIR: .*a directory is where a file must be/,
  ],
  [
    'a file for artifacts',
    '',
    { ARTIFACT_STORE: 'file' },
    /^ARTIFACT_STORE: .*a file is where a directory must be/,
  ],
])('names the setting if it is %s', async (_, inside, settings, message) => {
  writeFileSync(join(folder, 'file'), '');
  const data = join(folder, 'data');
  mkdirSync(data);
  if (inside.endsWith('/')) mkdirSync(join(data, inside));
  else if (inside !== '')
    writeFileSync(join(data, inside), 'no lock at all, and long enough to be read. '.repeat(20));
  const named = Object.fromEntries(
    Object.entries(settings).map(([name, path]) => [name, path.startsWith('/') ? path : join(folder, path)]),
  );
  const config = ServiceConfig.parse({ DATA_DIR: data, PORT: '0', ...named });
  await expect(startService({ config, logger: quietLogger })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringMatching(message),
  });
});
