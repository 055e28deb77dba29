import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { IcmpUnavailable, type PingTrain } from '../../../src/probes/icmp/backend.ts';
import { NetPingBackend } from '../../../src/probes/icmp/net-ping/backend.ts';
import { readRawMessage } from '../../../src/probes/icmp/net-ping/packet.ts';

const reason = await whyNoNetPing();
const module = new URL('../../../src/probes/icmp/net-ping/backend.ts', import.meta.url).href;
const here: PingTrain = {
  address: '127.0.0.1',
  family: 4,
  count: 5,
  intervalMs: 5,
  replyTimeoutMs: 1000,
  dataBytes: 56,
};
const never = new AbortController().signal;

async function whyNoNetPing(): Promise<string | undefined> {
  try {
    await (await NetPingBackend.open()).close();
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof IcmpUnavailable) || process.env.CI === 'true') throw thrown;
    return thrown.message;
  }
}

/** Ids of this process's net-ping children. */
function netPingChildren(): number[] {
  const pids = readdirSync('/proc/self/task').flatMap((thread) =>
    readFileSync(`/proc/self/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
  return pids.filter((pid) => commandLine(pid).includes('net-ping-main'));
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    // It ended meanwhile.
    return '';
  }
}

describe.skipIf(reason)(`the net-ping backend${reason ? ` (${reason})` : ''}`, () => {
  let backend: NetPingBackend | undefined;

  afterEach(async () => {
    await backend?.close();
    backend = undefined;
  });

  it('leaves no process behind when it is closed', async () => {
    backend = await NetPingBackend.open();
    expect(netPingChildren()).toHaveLength(1);
    await backend.ping(here, never);
    await backend.close();
    expect(netPingChildren()).toEqual([]);
  });

  it('gives its process none of our environment', async () => {
    backend = await NetPingBackend.open();
    const [pid] = netPingChildren();
    const names = readFileSync(`/proc/${pid}/environ`, 'utf8')
      .split('\0')
      .map((entry) => entry.split('=', 1)[0]);
    expect(names.filter((name) => name !== '' && !name?.startsWith('NODE_CHANNEL_'))).toEqual([]);
  });

  it('measures fractions of a millisecond', async () => {
    backend = await NetPingBackend.open();
    const answers = await backend.ping(here, never);
    const times = answers.flatMap((answer) => (answer.kind === 'reply' ? [answer.rttMs] : []));
    expect(times).toHaveLength(5);
    expect(times.every((rttMs) => rttMs > 0 && !Number.isInteger(rttMs))).toBe(true);
  });

  it('separates the trains of two backends and many runs', async () => {
    backend = await NetPingBackend.open();
    const other = await NetPingBackend.open();
    const silent = { ...here, address: '127.0.0.1', replyTimeoutMs: 300 };
    const trains = Array.from({ length: 40 }, (_, index) =>
      (index % 2 === 0 ? backend : other)?.ping({ ...silent, address: `127.0.0.${index + 1}` }, never),
    );
    for (const answers of await Promise.all(trains)) {
      expect(answers?.map(({ kind, sequence }) => `${kind} ${sequence}`)).toEqual([
        'reply 0',
        'reply 1',
        'reply 2',
        'reply 3',
        'reply 4',
      ]);
    }
    await other.close();
  });

  it('returns what it has when it is stopped', async () => {
    backend = await NetPingBackend.open();
    const stop = new AbortController();
    const pinging = backend.ping({ ...here, count: 50, intervalMs: 500 }, stop.signal);
    await backend.ping({ ...here, count: 1 }, never);
    stop.abort();
    expect((await pinging).map(({ kind }) => kind)).toEqual(['reply']);
    expect(await backend.ping(here, AbortSignal.abort())).toEqual([]);
  });

  it('rejects the runs that its process dies under, and serves the next one', async () => {
    backend = await NetPingBackend.open();
    const pinging = backend.ping({ ...here, count: 50, intervalMs: 500 }, never);
    await backend.ping({ ...here, count: 1 }, never);
    const [pid] = netPingChildren();
    process.kill(pid ?? 0, 'SIGKILL');
    await expect(pinging).rejects.toThrow('the net-ping process ended unexpectedly');
    expect(await backend.ping(here, never)).toHaveLength(5);
  });

  it('works for a worker thread, and ends with it', async () => {
    const worker = new Worker(
      `const { parentPort, workerData } = require('node:worker_threads');
       import(workerData.module).then(async ({ NetPingBackend }) => {
         const backend = await NetPingBackend.open();
         backend.ping({ ...workerData.train, count: 50, intervalMs: 500 }, new AbortController().signal);
         parentPort.postMessage(await backend.ping(workerData.train, new AbortController().signal));
       });`,
      { eval: true, workerData: { module, train: here } },
    );
    const answers = await new Promise((resolve) => worker.once('message', resolve));
    expect(answers).toHaveLength(5);
    const pids = netPingChildren();
    await worker.terminate();
    await expect.poll(() => netPingChildren().filter((pid) => pids.includes(pid))).toEqual([]);
  });

  it('keeps no process alive that has nothing to ping', async () => {
    const code = `import(${JSON.stringify(module)}).then(async ({ NetPingBackend }) => {
      const backend = await NetPingBackend.open();
      console.log((await backend.ping(${JSON.stringify(here)}, new AbortController().signal)).length);
    });`;
    const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (data) => {
      output += data;
    });
    expect(await new Promise((resolve) => child.once('close', resolve))).toBe(0);
    expect(output.trim()).toBe('5');
  });

  it('says of an interface that does not exist that nothing was sent', async () => {
    backend = await NetPingBackend.open();
    const answers = await backend.ping({ ...here, address: 'fe80::1%nowhere', family: 6, count: 2 }, never);
    expect(answers).toEqual([
      { kind: 'unsent', sequence: 0, errno: 'ENODEV' },
      { kind: 'unsent', sequence: 1, errno: 'ENODEV' },
    ]);
  });
});

describe('messages of a raw socket', () => {
  const echo = Buffer.from('8000000012340007aabbccddeeff0011', 'hex');
  const ipv6 = (next: number, rest: Buffer) =>
    Buffer.concat([
      Buffer.from([0x60, 0, 0, 0, 0, rest.length, next, 64]),
      Buffer.alloc(16),
      Buffer.from('fd800002000000000000000000000001', 'hex'),
      rest,
    ]);
  const unreachable = (quoted: Buffer) => Buffer.concat([Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]), quoted]);

  it('finds the request of an IPv6 error, even after extension headers', () => {
    const expected = { kind: 'error', identifier: 0x1234, sequence: 7, target: 'fd80:2::1', type: 1 };
    expect(readRawMessage(6, unreachable(ipv6(58, echo)))).toMatchObject(expected);
    const fragment = Buffer.concat([Buffer.from([58, 0, 0, 1, 0, 0, 0, 9]), echo]);
    expect(readRawMessage(6, unreachable(ipv6(44, fragment)))).toMatchObject(expected);
    const options = Buffer.concat([Buffer.from([58, 1]), Buffer.alloc(14), echo]);
    expect(readRawMessage(6, unreachable(ipv6(60, options)))).toMatchObject(expected);
  });

  it.each([4, 6] as const)('accepts no truncated data as a message of IPv%i', (family) => {
    const whole = unreachable(ipv6(44, Buffer.concat([Buffer.from([58, 0, 0, 1, 0, 0, 0, 9]), echo])));
    for (let bytes = 0; bytes < whole.length - 8; bytes += 1) {
      expect(readRawMessage(family, whole.subarray(0, bytes)), `${bytes} bytes`).toBeUndefined();
    }
  });
});
