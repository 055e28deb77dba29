import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../free-port.ts';
import type { KeyAndCertificate } from '../targets/certificates.ts';

export interface MariaDb extends AsyncDisposable {
  readonly port: number;
}

const paths = { PATH: `${process.env.PATH ?? ''}:/usr/sbin:/sbin` };
/** Parts of the names of the files that make the tables of the system; newer versions begin them with `mariadb_`. */
const systemTables = ['system_tables', 'system_tables_data'];
const sharedFolder = '/usr/share/mysql';

/** Reason why tests that need MariaDB cannot run here, or null. In CI, a missing one is an error. */
export function whyNoMariaDb(): string | null {
  if (!spawnSync('mariadbd', ['--version'], { stdio: 'ignore', env: paths }).error) return null;
  const reason = 'no mariadbd on this machine (Debian: mariadb-server)';
  if (process.env.CI === 'true') throw new Error(reason);
  return reason;
}

/**
 * Starts Debian's MariaDB on a free loopback port, with an empty store of its own.
 *
 * @param options.statements run as its administrator before it listens, one a line.
 */
export async function startMariaDb(options: {
  readonly statements: readonly string[];
  readonly tls: KeyAndCertificate;
  readonly settings?: readonly string[];
}): Promise<MariaDb> {
  const folder = mkdtempSync(join(tmpdir(), 'picket-mariadb-'));
  const port = await freePort();
  const file = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  mkdirSync(join(folder, 'data'));
  const common = [
    '--no-defaults',
    '--user=root',
    `--datadir=${folder}/data`,
    '--innodb-log-file-size=4M',
    '--innodb-buffer-pool-size=8M',
    '--innodb-flush-log-at-trx-commit=0',
    '--skip-log-bin',
  ];
  // The work of mariadb-install-db, without the texts of its help.
  const tables = systemTables.map((name) => {
    const paths = ['mariadb', 'mysql'].map((maker) => join(sharedFolder, `${maker}_${name}.sql`));
    return readFileSync(paths.find(existsSync) ?? '', 'utf8');
  });
  mkdirSync(join(folder, 'data', 'mysql'));
  const made = spawnSync('mariadbd', [...common, '--bootstrap'], {
    env: paths,
    encoding: 'utf8',
    input: ['use mysql;', 'set @auth_root_socket=NULL;', ...tables].join('\n'),
  });
  if (made.status !== 0) throw new Error(`MariaDB has no tables: ${made.stderr}`);
  const child = spawn(
    'mariadbd',
    [
      ...common,
      '--bind-address=127.0.0.1',
      `--port=${port}`,
      `--socket=${folder}/socket`,
      `--pid-file=${folder}/pid`,
      `--init-file=${file('init.sql', `${options.statements.join('\n')}\n`)}`,
      `--ssl-cert=${file('cert.pem', options.tls.cert)}`,
      `--ssl-key=${file('key.pem', options.tls.key)}`,
      `--log-error=${folder}/error.log`,
      '--skip-name-resolve',
      ...(options.settings ?? []),
    ],
    { env: paths, stdio: 'ignore' },
  );
  const exited = once(child, 'exit');
  await listening(child, port, () => readFileSync(join(folder, 'error.log'), 'utf8'));
  return {
    port,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function listening(child: ChildProcess, port: number, log: () => string): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`MariaDB ended: ${log()}`);
    const socket = connect(port, '127.0.0.1');
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('data', () => resolve(true));
      socket.once('error', () => resolve(false));
    });
    socket.destroy();
    if (isOpen) return;
    await delay(20);
  }
}
