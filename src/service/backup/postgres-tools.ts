import { type ChildProcess, spawn } from 'node:child_process';
import { AppError, errorCodeOf, toError } from '@picket/lib/errors.ts';
import pg from 'pg';

/** Connection URL of a database, and the environment for the PostgreSQL tools. */
export interface PostgresPlace {
  readonly url: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Writes a PostgreSQL database to a file, in the format that `pg_restore` reads. */
export async function dumpPostgres(place: PostgresPlace, file: string): Promise<void> {
  await runTool('pg_dump', place, ['--format=custom', '--no-owner', '--no-privileges', `--file=${file}`]);
}

/**
 * Restores a dump into a database, all or nothing.
 *
 * @throws AppError CONFIG_INVALID if services use the database, or it contains tables that must not be
 *   replaced.
 */
export async function restorePostgres(place: PostgresPlace, file: string, replace: boolean): Promise<void> {
  const client = new pg.Client({ connectionString: place.url });
  await client.connect();
  try {
    const used = await client.query(`select 1 from pg_stat_activity
      where datname = current_database() and application_name like 'picket service%' limit 1`);
    if (used.rows.length > 0) {
      throw new AppError(
        'CONFIG_INVALID',
        'DATABASE_URL: a service uses this database. Stop all of them first.',
      );
    }
    const tables = await client.query(`select 1 from information_schema.tables
      where table_schema = current_schema() limit 1`);
    if (tables.rows.length > 0 && !replace) {
      throw new AppError(
        'CONFIG_INVALID',
        'DATABASE_URL: the database is not empty. Restore into an empty one, or add --replace.',
      );
    }
  } finally {
    await client.end();
  }
  // Tablespaces belong to the original server: another one has other disks.
  const options = ['--no-owner', '--no-privileges', '--no-tablespaces'];
  if (replace) await replaceTables(place, ['--clean', '--if-exists', ...options, file]);
  else await runTool('pg_restore', place, [...options, '--single-transaction', file]);
}

/**
 * `pg_restore --clean` fails if there are partitions, and does not know those missing in the dump: they are dropped
 * first, in the same transaction.
 */
async function replaceTables(place: PostgresPlace, args: readonly string[]): Promise<void> {
  const reading = spawn('pg_restore', [...args, '--file=-'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: place.environment,
  });
  const writing = startTool('psql', place, [
    ...['--no-psqlrc', '--quiet', '--output=/dev/null', '--single-transaction', '--set=ON_ERROR_STOP=1'],
    ...['--command=drop table if exists results, runs cascade', '--file=-'],
  ]);
  const { stdin } = writing.child;
  // A process that ends before it has all input reports that by its exit code.
  stdin?.on('error', () => undefined);
  reading.stdout.on('error', () => undefined);
  if (stdin) reading.stdout.pipe(stdin, { end: false });
  const isRead = ended('pg_restore', reading).then(
    () => stdin?.end(),
    (thrown: unknown) => {
      // At the end of its input it would commit what has arrived so far.
      writing.child.kill('SIGKILL');
      throw thrown;
    },
  );
  writing.done.catch(() => reading.kill('SIGKILL'));
  const [read, written] = await Promise.allSettled([isRead, writing.done]);
  // The process that failed first has killed the other.
  const failed = [written, read].filter((outcome) => outcome.status === 'rejected');
  const first = failed.find(({ reason }) => !/failed: $/.test(toError(reason).message)) ?? failed[0];
  if (first) throw first.reason;
}

/** The password is passed in the environment, because arguments are visible to every user of the machine. */
async function runTool(program: string, place: PostgresPlace, args: readonly string[]): Promise<void> {
  await startTool(program, place, args).done;
}

function startTool(program: string, { url, environment }: PostgresPlace, args: readonly string[]) {
  const [withoutPassword, password] = splitPassword(url);
  const child = spawn(program, [`--dbname=${withoutPassword}`, ...args], {
    stdio: [program === 'psql' ? 'pipe' : 'ignore', 'ignore', 'pipe'],
    env: { ...environment, ...(password === undefined ? {} : { PGPASSWORD: password }) },
  });
  return { child, done: ended(program, child) };
}

async function ended(program: string, child: ChildProcess): Promise<void> {
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-4_000);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('close', resolve);
    child.on('error', (error) => {
      const isMissing = errorCodeOf(error) === 'ENOENT';
      reject(
        isMissing
          ? new AppError(
              'CONFIG_INVALID',
              `${program} is not installed. It comes with PostgreSQL's client programs.`,
            )
          : error,
      );
    });
  });
  if (code !== 0) throw new AppError('STORE_UNAVAILABLE', `${program} failed: ${said.trim()}`);
}

/** Splits a connection URL, possibly of several hosts, into the URL without its password, and the password. */
function splitPassword(url: string): [withoutPassword: string, password: string | undefined] {
  const parts = /^([a-z]+:\/\/[^:@/?]*):([^@/?]*)@(.*)$/.exec(url);
  if (!parts) return [url, undefined];
  const [, start = '', password = '', rest = ''] = parts;
  return [`${start}@${rest}`, decodeURIComponent(password)];
}
