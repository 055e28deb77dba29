import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import pg from 'pg';
import { freePort } from '../free-port.ts';

/** A separate PostgreSQL server, for tests that stop it or measure it. */
export interface PostgresServer {
  /** Creates an empty database and returns its URL. */
  createDatabase(): Promise<string>;
  /** CPU time its processes have used, in milliseconds (Linux). */
  cpuMs(): number;
  /** Its first process, whose children are the others; 0 while it is stopped. */
  pid(): number;
  /** Stops the server at once, like a crash; `start()` restarts it on the same port and data. */
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Folder of the newest PostgreSQL programs on this machine, or null. */
export function findPostgres(): string | null {
  const debian = '/usr/lib/postgresql';
  const installed = existsSync(debian)
    ? readdirSync(debian)
        .sort((left, right) => Number(right) - Number(left))
        .map((version) => join(debian, version, 'bin'))
    : [];
  const folders = [...installed, ...(process.env.PATH ?? '').split(delimiter)];
  const found = folders.find(
    (folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')),
  );
  return found ?? null;
}

/** Reason why tests that need PostgreSQL cannot run here, or null. In CI, missing PostgreSQL is an error. */
export function whyNoPostgres(): string | null {
  if (findPostgres() !== null) return null;
  const reason = 'no PostgreSQL on this machine (initdb and postgres in /usr/lib/postgresql/*/bin or PATH)';
  if (process.env.CI === 'true') throw new Error(reason);
  return reason;
}

/** Ids of a user for PostgreSQL, which refuses to run as root. */
export function unprivilegedIds(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const user = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody');
  if (!user) throw new Error('neither a user "postgres" nor "nobody" to run PostgreSQL as');
  return { uid: Number(user[2]), gid: Number(user[3]) };
}

/** @param url of any database of the cluster. */
export async function createDatabase(url: string, template: string, name?: string): Promise<string> {
  const database = name ?? `test_${randomUUID().replaceAll('-', '')}`;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`create database ${database} template ${template}`);
  await client.end();
  return Object.assign(new URL(url), { pathname: `/${database}` }).href;
}

/**
 * Creates a cluster in a temporary folder and starts it on a free port of 127.0.0.1. Commits do not wait for the disk
 * unless `isDurable` is set.
 *
 * @param options.settings additional settings of postgresql.conf.
 */
export async function startPostgres(
  options: { readonly isDurable?: boolean; readonly settings?: Readonly<Record<string, string>> } = {},
): Promise<PostgresServer> {
  const programs = findPostgres();
  if (programs === null) throw new Error(whyNoPostgres() ?? 'no PostgreSQL');
  const ids = unprivilegedIds();
  const folder = mkdtempSync(join(tmpdir(), 'picket-pg-'));
  if (ids) chownSync(folder, ids.uid, ids.gid);
  const data = join(folder, 'data');
  const environment = { PATH: process.env.PATH ?? '', LC_ALL: 'C', TZ: 'UTC' };
  const processOptions = { ...(ids ?? {}), env: environment, cwd: folder };
  const initialised = spawnSync(
    join(programs, 'initdb'),
    ['-D', data, '-U', 'picket', '-A', 'trust', '-E', 'UTF8', '--no-sync'],
    { ...processOptions, encoding: 'utf8' },
  );
  if (initialised.status !== 0) throw new Error(`initdb failed: ${initialised.stderr}`);
  const port = await freePort();
  const urlOf = (database: string) => `postgres://picket@127.0.0.1:${port}/${database}`;
  let child: ChildProcess | undefined;

  const start = async () => {
    child = spawn(
      join(programs, 'postgres'),
      [
        '-D',
        data,
        '-p',
        String(port),
        '-h',
        '127.0.0.1',
        '-k',
        folder,
        '-c',
        `fsync=${options.isDurable ? 'on' : 'off'}`,
        '-c',
        'max_connections=300',
        ...Object.entries(options.settings ?? {}).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      { ...processOptions, stdio: 'ignore' },
    );
    const deadline = Date.now() + 20_000;
    for (;;) {
      if (await accepts(urlOf('postgres'))) return;
      if (Date.now() > deadline || child.exitCode !== null) throw new Error('PostgreSQL did not start');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const end = async (signal: NodeJS.Signals) => {
    const ending = child;
    child = undefined;
    if (!ending || ending.exitCode !== null) return;
    const ended = new Promise((resolve) => ending.once('exit', resolve));
    ending.kill(signal);
    await ended;
  };
  await start();
  return {
    createDatabase: () => createDatabase(urlOf('postgres'), 'template1'),
    cpuMs: () => familyCpuMs(child?.pid ?? 0),
    pid: () => child?.pid ?? 0,
    kill: () => end('SIGQUIT'),
    start,
    async stop() {
      await end('SIGQUIT');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** CPU time of a process and its children, both running and ended. */
function familyCpuMs(pid: number): number {
  let ticks = 0;
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const fields = stat
        .slice(stat.lastIndexOf(')') + 2)
        .split(' ')
        .map(Number);
      const isOwn = Number(name) === pid;
      if (!isOwn && fields[1] !== pid) continue;
      // utime and stime, plus those of awaited children for the parent; in hundredths of a second.
      ticks += (fields[11] ?? 0) + (fields[12] ?? 0);
      if (isOwn) ticks += (fields[13] ?? 0) + (fields[14] ?? 0);
    } catch {
      // It ended meanwhile.
    }
  }
  return ticks * 10;
}

async function accepts(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}
