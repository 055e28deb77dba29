import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from '../free-port.ts';
import { unprivilegedIds } from './postgres.ts';
import { until } from './service.ts';

/** A pooler in transaction mode in front of a PostgreSQL server of a test. */
export interface Pooler extends AsyncDisposable {
  /** The database, through the pooler. */
  readonly url: string;
  /** Number of transactions since its start. */
  transactions(): Promise<number>;
}

/** Reason why tests that need the pooler cannot run here, or null. In CI, a missing pooler is an error. */
export function whyNoPooler(): string | null {
  if (!spawnSync('pgbouncer', ['--version'], { stdio: 'ignore' }).error) return null;
  const reason = 'no pgbouncer on this machine (Debian package of the same name)';
  if (process.env.CI === 'true') throw new Error(reason);
  return reason;
}

export interface PoolerOptions {
  readonly databaseUrl: string;
  /** Fewer than its clients' connections, so that they have to share. */
  readonly serverConnections: number;
  /** More lines of its section `[pgbouncer]`. */
  readonly settings?: Readonly<Record<string, string>>;
}

export async function startPooler(options: PoolerOptions): Promise<Pooler> {
  const { databaseUrl, serverConnections, settings = {} } = options;
  const server = new URL(databaseUrl);
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'picket-pgbouncer-'));
  const file = join(folder, 'pgbouncer.ini');
  const lines = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'trust',
    auth_file: join(folder, 'users'),
    admin_users: server.username,
    pool_mode: 'transaction',
    max_client_conn: 200,
    default_pool_size: serverConnections,
    ...settings,
  };
  const section = Object.entries(lines).map(([name, value]) => `${name} = ${value}`);
  writeFileSync(
    file,
    `[databases]\n* = host=${server.hostname} port=${server.port}\n[pgbouncer]\n${section.join('\n')}\n`,
  );
  writeFileSync(lines.auth_file, `"${server.username}" ""\n`);
  // It refuses to run as root.
  const ids = unprivilegedIds();
  for (const path of ids ? [folder, file, lines.auth_file] : [])
    chownSync(path, ids?.uid ?? 0, ids?.gid ?? 0);
  const child = spawn('pgbouncer', [file], { ...(ids ?? {}), cwd: folder, stdio: 'ignore' });
  const exited = once(child, 'exit');
  const url = Object.assign(new URL(databaseUrl), { port: String(port) }).href;
  const query = async (database: string, text: string): Promise<Record<string, string>[]> => {
    const client = new pg.Client({
      connectionString: Object.assign(new URL(url), { pathname: database }).href,
    });
    client.on('error', () => undefined);
    await client.connect();
    // The pooler's console supports only the simple query protocol.
    const { rows } = await client.query(text).finally(() => client.end());
    return rows;
  };
  await until('the pooler answers', async () => {
    if (child.exitCode !== null) throw new Error(`pgbouncer ended with ${child.exitCode}`);
    return await query('/pgbouncer', 'show version').then(
      () => true,
      () => false,
    );
  });
  return {
    url,
    async transactions() {
      const rows = await query('/pgbouncer', 'show stats_totals');
      return rows.reduce((sum, row) => sum + Number(row.xact_count), 0);
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
