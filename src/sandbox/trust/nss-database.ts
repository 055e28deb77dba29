import { spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { thrownMessageIn } from '../foreign-texts.ts';

const program = fileURLToPath(new URL(`./nss-database-main${extname(import.meta.url)}`, import.meta.url));
/** Shared memory: the library syncs to disk 36 times, which on a busy disk took longer than the limit. */
const memoryFolder = '/dev/shm';
const timeoutMs = 20_000;
const maxMessageLength = 2000;
/** The certificates with their trust flags, and an empty list of keys. */
const databaseFiles = ['cert9.db', 'key4.db'] as const;

/** The database could not be created; the message explains why. */
export class NssUnavailable extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'NssUnavailable';
  }
}

/**
 * Creates the files of a database with which Chromium on Linux trusts additional CA certificates: it reads
 * `~/.pki/nssdb` of its user. Without root there is no alternative: policies are in /etc, and a flag to ignore errors
 * would also ignore wrong names and expired certificates.
 *
 * @param certificates PEM texts.
 * @param executablePath the browser, which may include the library.
 * @returns contents by file name.
 * @throws NssUnavailable
 */
export async function makeNssDatabase(
  certificates: readonly string[],
  executablePath: string | undefined,
): Promise<ReadonlyMap<string, Buffer>> {
  const directory = await makeFolder();
  try {
    await run(directory, certificates, executablePath);
    const files = new Map<string, Buffer>();
    for (const name of databaseFiles) files.set(name, await readFile(join(directory, name)));
    return files;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function makeFolder(): Promise<string> {
  try {
    return await mkdtemp(join(memoryFolder, 'picket-nss-'));
  } catch {
    return await mkdtemp(join(tmpdir(), 'picket-nss-')); // no shared memory on this host, or not writable
  }
}

async function run(
  directory: string,
  certificates: readonly string[],
  executablePath: string | undefined,
): Promise<void> {
  const child = spawn(process.execPath, [program, directory], {
    stdio: ['pipe', 'ignore', 'pipe'],
    env: executablePath === undefined ? {} : { LD_LIBRARY_PATH: join(dirname(executablePath), 'lib') },
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  });
  let message = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    message = (message + chunk).slice(-maxMessageLength);
  });
  child.stdin.on('error', () => undefined); // it ended before it read: its exit code tells
  child.stdin.end(JSON.stringify(certificates.map((pem) => new X509Certificate(pem).raw.toString('base64'))));
  const [code, signal] = await new Promise<readonly [number | null, NodeJS.Signals | null]>(
    (resolve, reject) => {
      child.on('error', reject);
      child.on('close', (...end) => resolve(end));
    },
  );
  if (code === 0) return;
  const how = signal === null ? `exit code ${code}` : `${signal}, after at most ${timeoutMs} ms`;
  const reason = thrownMessageIn(message) ?? how;
  throw new NssUnavailable(`the CA database for browsers could not be created: ${reason}`);
}
