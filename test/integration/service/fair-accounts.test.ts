import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { startServiceProcess } from '../../helpers/picket-process.ts';
import { fairnessSuite } from '../conformance/fairness-suite.ts';

describe('fairness on SQLite', () => fairnessSuite(async () => ({})));

const rush = 1_500;
const mostUnaccepted = Number(await readFile('/proc/sys/net/core/somaxconn', 'utf8').catch(() => 0));

it.skipIf(mostUnaccepted < rush)('leaves no connection of a rush to the next try of its caller', async () => {
  await using service = await startServiceProcess();
  const { port } = new URL(service.url);
  const sockets: Socket[] = [];
  process.kill(service.process.pid, 'SIGSTOP');
  try {
    // The kernel alone answers: as while the process is busy.
    for (let number = 0; number < rush; number += 1) sockets.push(connect(Number(port), '127.0.0.1'));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    expect(sockets.filter((socket) => socket.readyState === 'open')).toHaveLength(rush);
  } finally {
    for (const socket of sockets) socket.destroy();
    process.kill(service.process.pid, 'SIGCONT');
  }
});
