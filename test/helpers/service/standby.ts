import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from '../free-port.ts';
import { findPostgres, unprivilegedIds, whyNoPostgres } from './postgres.ts';
import { until } from './service.ts';

/** A streaming replica of a PostgreSQL server of a test. */
export interface Standby extends AsyncDisposable {
  /** The same database, on the replica. */
  readonly url: string;
  /** Kills it at once; `start()` restarts it on the same port. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

/** Copies the cluster of a database and starts replication from it. */
export async function startStandby(databaseUrl: string): Promise<Standby> {
  const programs = findPostgres();
  if (programs === null) throw new Error(whyNoPostgres() ?? 'no PostgreSQL');
  const ids = unprivilegedIds();
  const folder = mkdtempSync(join(tmpdir(), 'picket-standby-'));
  if (ids) chownSync(folder, ids.uid, ids.gid);
  const data = join(folder, 'data');
  const options = {
    ...(ids ?? {}),
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', LC_ALL: 'C', TZ: 'UTC' },
  };
  const copied = spawnSync(
    join(programs, 'pg_basebackup'),
    [`--dbname=${databaseUrl}`, '-D', data, '-R', '-X', 'stream', '--checkpoint=fast', '--no-sync'],
    { ...options, encoding: 'utf8' },
  );
  if (copied.status !== 0) throw new Error(`pg_basebackup failed: ${copied.stderr}`);
  const port = await freePort();
  const url = Object.assign(new URL(databaseUrl), { port: String(port) }).href;
  let child: ChildProcess | undefined;
  const start = async () => {
    const settings = ['fsync=off', 'max_connections=300'].flatMap((setting) => ['-c', setting]);
    const server = spawn(
      join(programs, 'postgres'),
      ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', folder, ...settings],
      { ...options, stdio: 'ignore' },
    );
    child = server;
    await until('the standby answers', async () => {
      if (server.exitCode !== null) throw new Error('the standby did not start');
      const client = new pg.Client({ connectionString: url });
      client.on('error', () => undefined);
      return await client.connect().then(
        () => client.end().then(() => true),
        () => false,
      );
    });
  };
  const kill = async () => {
    const ending = child;
    child = undefined;
    if (!ending || ending.exitCode !== null) return;
    const ended = once(ending, 'exit');
    ending.kill('SIGQUIT');
    await ended;
  };
  await start();
  return {
    url,
    start,
    kill,
    async [Symbol.asyncDispose]() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
