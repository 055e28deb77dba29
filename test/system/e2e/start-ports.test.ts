import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadState, saveState } from '../../../scripts/start/state.ts';
import { freePort } from '../../helpers/free-port.ts';

let folder: string;
const servers: Server[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'picket-start-'));
});
afterEach(async () => {
  await Promise.all(servers.splice(0).map(end));
  await rm(folder, { recursive: true });
});

/** Listens on a port, as another program would. */
async function take(port: number): Promise<Server> {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  servers.push(server);
  return server;
}

const end = (server: Server) => new Promise((resolve) => server.close(resolve));

async function load(wanted: { service: number; health: number }) {
  const said: string[] = [];
  const state = await loadState(folder, wanted, (text) => said.push(text));
  return { state, said };
}

describe('the ports of npm start', () => {
  it('are replaced while they are taken, which is reported, and restored later', async () => {
    const wanted = { service: await freePort(), health: await freePort() };
    const takers = [await take(wanted.service), await take(wanted.health)];
    const { state, said } = await load(wanted);
    expect(Object.values(wanted)).not.toContain(state.servicePort);
    expect(Object.values(wanted)).not.toContain(state.healthPort);
    expect(said).toEqual([
      `port ${wanted.service} is taken by another program: the service gets ${state.servicePort} this time`,
      `port ${wanted.health} is taken by another program: the agent's health page gets ${state.healthPort} this time`,
    ]);
    saveState(folder, state);

    await Promise.all(takers.map(end));
    servers.length = 0;
    const later = await load(wanted);
    expect(later.state).toEqual({ ...state, servicePort: wanted.service, healthPort: wanted.health });
    expect(later.said).toEqual([]);
  });

  it('give another closed port to the sample that expects one, once a program listens there', async () => {
    const wanted = { service: await freePort(), health: await freePort() };
    const first = await load(wanted);
    first.state.targetPorts.closed = await freePort();
    saveState(folder, first.state);
    expect((await load(wanted)).state.targetPorts).toEqual(first.state.targetPorts);
    await take(first.state.targetPorts.closed);
    expect((await load(wanted)).state.targetPorts.closed).not.toBe(first.state.targetPorts.closed);
  });
});
