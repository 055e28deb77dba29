import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../free-port.ts';
import { until } from './service.ts';

/** A NATS server of a test. */
export interface NatsServer extends AsyncDisposable {
  /** Such as `127.0.0.1:4222`. */
  readonly host: string;
  /** Id of its process. */
  pid(): number;
  /** Kills it at once; `start()` restarts it on the same port, with other configuration lines if given. */
  kill(): Promise<void>;
  start(configuration?: string): Promise<void>;
}

/** Reason why tests that need NATS cannot run here, or null. In CI, missing NATS is an error. */
export function whyNoNats(): string | null {
  if (!spawnSync('nats-server', ['--version'], { stdio: 'ignore' }).error) return null;
  const reason = 'no nats-server on this machine (Debian package of the same name)';
  if (process.env.CI === 'true') throw new Error(reason);
  return reason;
}

/** @param configuration more lines of its configuration, such as users. */
export async function startNats(configuration = ''): Promise<NatsServer> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'picket-nats-'));
  const file = join(folder, 'nats.conf');
  let lines = configuration;
  let child: ChildProcess | undefined;
  const start: NatsServer['start'] = async (changed = lines) => {
    lines = changed;
    writeFileSync(file, `host: 127.0.0.1\nport: ${port}\n${lines}\n`);
    const server = spawn('nats-server', ['-c', file], { cwd: folder, stdio: 'ignore' });
    child = server;
    await until('the NATS server greets', () => {
      if (server.exitCode !== null) throw new Error(`nats-server ended with ${server.exitCode}`);
      return isGreeting(port);
    });
  };
  const kill = async () => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  await start();
  return {
    host: `127.0.0.1:${port}`,
    pid: () => child?.pid ?? 0,
    kill,
    start,
    async [Symbol.asyncDispose]() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Whether it greets a new connection. */
async function isGreeting(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    const [greeting] = await once(socket, 'data');
    return String(greeting).startsWith('INFO ');
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
