import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { program } from '../../helpers/program.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';
import { whyNoNamespaces } from '../../helpers/wire/network-namespaces.ts';

const fakeService = fileURLToPath(new URL('../../helpers/agent/fake-service/main.ts', import.meta.url));
const reason = whyNoNamespaces();

/** Ways in which the agent's own process may crash. */
const crashes: readonly (readonly [string, string])[] = [
  ['a rejection nobody handles', `Promise.reject(new Error('broken'));`],
  ['an exception in a timer', `setTimeout(() => { throw new Error('broken'); });`],
  ['an exception after a system call', `readFile('/nonexistent', () => { throw new Error('broken'); });`],
  ['native code', `setImmediate(() => Buffer.alloc(-1));`],
  ['a value that is no error', `setImmediate(() => { throw 'broken'; });`],
];

/** Crashes on SIGUSR2 after writing down the kernel's counters. */
function preload(crash: string, countersPath: string): string {
  const code = `
    import { readFile, readFileSync, writeFileSync } from 'node:fs';
    import { isMainThread } from 'node:worker_threads';
    if (isMainThread) process.on('SIGUSR2', () => {
      writeFileSync(${JSON.stringify(countersPath)}, readFileSync('/proc/net/snmp'));
      ${crash}
    });`;
  return `data:text/javascript,${encodeURIComponent(code)}`;
}

/** Connections that were opened and packets that were sent in a separate network, over every protocol. */
function counters(snmp: string) {
  const of = (protocol: string, name: string) => {
    const [names = '', values = ''] = snmp.split('\n').filter((line) => line.startsWith(`${protocol}: `));
    return Number(values.split(' ')[names.split(' ').indexOf(name)]);
  };
  return { connections: of('Tcp', 'ActiveOpens'), datagrams: of('Udp', 'OutDatagrams') };
}

describe.skipIf(reason)(`an agent that crashes, seen from the kernel${reason ? ` (${reason})` : ''}`, () => {
  const name = `pk${randomBytes(3).toString('hex')}`;
  const folder = temporaryFolder();
  const children: ChildProcess[] = [];
  const serviceLines: string[] = [];
  const inNetwork = (...command: string[]) => ['netns', 'exec', name, ...command];

  /** Starts a program in the network, and waits until it prints the words. */
  async function start(
    words: string,
    args: string[],
    environment: Record<string, string> = {},
    said: string[] = [],
  ) {
    const child = spawn('ip', inNetwork(process.execPath, ...args), {
      env: { PATH: process.env.PATH, ...environment },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    await new Promise<void>((resolve, reject) => {
      child.once('exit', () => reject(new Error(`it ended:\n${said.join('\n')}`)));
      createInterface({ input: child.stdout }).on('line', (line) => {
        said.push(line);
        if (line.includes(words)) resolve();
      });
    });
    return child;
  }

  beforeAll(async () => {
    execFileSync('ip', ['netns', 'add', name]);
    execFileSync('ip', inNetwork('ip', 'link', 'set', 'lo', 'up'));
    await start('fake service on', [fakeService, '8090', 'http://127.0.0.1:9/', '3600'], {}, serviceLines);
  });
  afterAll(() => {
    for (const child of children) child.kill('SIGKILL');
    execFileSync('ip', ['netns', 'delete', name]);
    folder.remove();
  });

  /** The traffic of an agent in the network from its crash to its end. */
  async function crash(code: string, setting: 'on' | 'off') {
    const countersPath = join(folder.path, 'counters');
    const agent = await start(
      'connected to the service',
      ['--import', preload(code, countersPath), program, 'agent'],
      {
        API_KEY: 'pl_0123456789abcdef',
        SERVICE_URL: 'http://127.0.0.1:8090',
        AGENT_HEALTH_PORT: '0',
        RUNTIMES_DIR: '/nonexistent',
        EXTERNAL_OBSERVABILITY: setting,
      },
    );
    const exited = new Promise((resolve) => agent.once('exit', resolve));
    agent.kill('SIGUSR2');
    expect(await exited).toBe(1);
    const before = counters(readFileSync(countersPath, 'utf8'));
    const after = counters(String(execFileSync('ip', inNetwork('cat', '/proc/net/snmp'))));
    return {
      connections: after.connections - before.connections,
      datagrams: after.datagrams - before.datagrams,
      reports: serviceLines.splice(0).filter((line) => line === 'other /api/agent/envelope/').length,
    };
  }

  it.each(crashes)('by %s opens no connection with EXTERNAL_OBSERVABILITY=off', async (_kind, code) => {
    expect(await crash(code, 'off')).toEqual({ connections: 0, datagrams: 0, reports: 0 });
  });

  it('otherwise reports to the service only', async () => {
    const { connections, datagrams, reports } = await crash(crashes[0]?.[1] ?? '', 'on');
    expect({ datagrams, reports }).toEqual({ datagrams: 0, reports: 1 });
    // It may have reused an idle connection.
    expect(connections).toBeLessThanOrEqual(1);
  });
});
