import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../free-port.ts';
import { unprivilegedIds } from './postgres.ts';
import { until } from './service.ts';

/** A ClickHouse server of a test. */
export interface ClickHouse extends AsyncDisposable {
  /** Its address and port. */
  readonly host: string;
  /** A new, empty database, with its user and password. */
  createDatabase(): Promise<string>;
  /** The result of a statement, as text. */
  ask(statement: string): Promise<string>;
  /** Kills it at once; `start()` restarts it on the same port with the same data. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

/** Reason why tests that need it cannot run here, or null. In CI, a missing server is an error. */
export function whyNoClickHouse(): string | null {
  if (!spawnSync('clickhouse-server', ['--help'], { stdio: 'ignore' }).error) return null;
  const reason = 'no clickhouse-server on this machine (Debian package of the same name)';
  if (process.env.CI === 'true') throw new Error(reason);
  return reason;
}

/** Contains characters that a URL must encode. */
const user = { name: 'picket', password: 'a/p@ss w&rd' } as const;

export async function startClickHouse(): Promise<ClickHouse> {
  const folder = mkdtempSync(join(tmpdir(), 'picket-clickhouse-'));
  const httpPort = await freePort();
  const tcpPort = await freePort();
  const files = {
    'config.xml': `<yandex>
      <logger><level>warning</level><console>1</console></logger>
      <http_port>${httpPort}</http_port><tcp_port>${tcpPort}</tcp_port>
      <listen_host>127.0.0.1</listen_host>
      <path>${join(folder, 'data')}/</path><tmp_path>${join(folder, 'tmp')}/</tmp_path>
      <users_config>${join(folder, 'users.xml')}</users_config>
      <default_profile>default</default_profile><default_database>default</default_database>
      <mark_cache_size>67108864</mark_cache_size></yandex>`,
    'users.xml': `<yandex><profiles><default/></profiles><quotas><default/></quotas><users>${[
      ['default', ''],
      [user.name, user.password.replaceAll('&', '&amp;')],
    ]
      .map(
        ([name, password]) => `<${name}><password>${password}</password><profile>default</profile>
          <networks><ip>::/0</ip></networks><quota>default</quota></${name}>`,
      )
      .join('')}</users></yandex>`,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  for (const name of ['data', 'tmp']) mkdirSync(join(folder, name));
  // Its files must belong to the user that runs it.
  const ids = unprivilegedIds();
  for (const path of ids ? [folder, ...['data', 'tmp', 'users.xml'].map((name) => join(folder, name))] : []) {
    chownSync(path, ids?.uid ?? 0, ids?.gid ?? 0);
  }
  let child: ChildProcess | undefined;
  let databases = 0;
  const ask = async (statement: string) => {
    const response = await fetch(`http://127.0.0.1:${httpPort}/`, { method: 'POST', body: statement });
    const text = await response.text();
    if (!response.ok) throw new Error(text);
    return text.trim();
  };
  const start = async () => {
    const started = spawn('clickhouse-server', [`--config-file=${join(folder, 'config.xml')}`], {
      ...(ids ?? {}),
      env: { PATH: process.env.PATH ?? '', TZ: 'Asia/Tokyo' },
      cwd: folder,
      stdio: 'ignore',
    });
    child = started;
    await until('ClickHouse answers', async () => {
      if (started.exitCode !== null) throw new Error(`clickhouse-server ended with ${started.exitCode}`);
      return ask('select 1').then(
        () => true,
        () => false,
      );
    });
  };
  const kill = async () => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  await start();
  return {
    host: `127.0.0.1:${httpPort}`,
    ask,
    start,
    kill,
    async createDatabase() {
      databases += 1;
      const name = `analytics_${databases}`;
      await ask(`create database ${name}`);
      const credentials = `${user.name}:${encodeURIComponent(user.password)}`;
      return `http://${credentials}@127.0.0.1:${httpPort}/${name}`;
    },
    async [Symbol.asyncDispose]() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
