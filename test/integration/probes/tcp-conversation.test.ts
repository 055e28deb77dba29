import { afterAll, describe, expect, it } from 'vitest';
import type { Resolver } from '../../../src/probes/resolver.ts';
import { converse } from '../../helpers/targets/tcp-request.ts';
import {
  closedPort,
  startTcpTarget,
  type TcpTarget,
  tcpBehaviours,
} from '../../helpers/targets/tcp-target.ts';

const targets: TcpTarget[] = [];
afterAll(() => Promise.all(targets.map((target) => target.close())));

async function started(...given: Parameters<typeof startTcpTarget>): Promise<TcpTarget> {
  const target = await startTcpTarget(...given);
  targets.push(target);
  return target;
}

describe('a conversation over TCP', () => {
  it('sends its data unchanged and reads until the peer closes', async () => {
    const target = await started('echo-and-close');
    const result = await converse(target, { data: 'grüße\r\n\0', idleGapMs: 60_000 });
    expect(result).toMatchObject({ error: undefined, isConnected: true, isTruncated: false });
    expect(result.answer.toString()).toBe('grüße\r\n\0');
    expect(result.address).toBe('127.0.0.1');
  });

  it('has phases that add up to its time', async () => {
    const target = await started('echo-and-close');
    const { phases, elapsedMs } = await converse(target, { data: 'x' });
    if (!phases) throw new Error('no phases');
    const { dns, connection, tls, data, total } = phases;
    expect(dns + connection + tls + data).toBeCloseTo(total, 6);
    expect(total).toBe(elapsedMs);
    // The address needed no lookup.
    expect([dns, tls]).toEqual([0, 0]);
    for (const ms of [connection, data]) expect(ms).toBeGreaterThan(0);
  });

  it('does not wait for an unwanted response', async () => {
    const target = await started('silent');
    const result = await converse(target, { isAnswerWanted: false, timeoutMs: 60_000 });
    expect(result.error).toBeUndefined();
    expect(result.phases?.data).toBe(0);
  });

  it('ends at a pause, whose length is not part of the time', async () => {
    const target = await started('echo');
    const startMs = performance.now();
    const { error, answer, phases, isTruncated } = await converse(target, { data: 'ping', idleGapMs: 300 });
    const passedMs = performance.now() - startMs;
    expect(error).toBeUndefined();
    expect(answer.toString()).toBe('ping');
    expect(isTruncated).toBe(false);
    expect(passedMs - (phases?.total ?? 0)).toBeGreaterThanOrEqual(299);
  });

  it('shows a slow resolver in dns', async () => {
    const target = await started('echo-and-close');
    const resolver: Resolver = {
      resolve: () =>
        new Promise((resolve) => setTimeout(() => resolve([{ address: '127.0.0.1', family: 4 }]), 80)),
    };
    const { phases } = await converse({ ...target, host: 'slow.example' }, { data: 'x', resolver });
    expect(phases?.dns).toBeGreaterThanOrEqual(79);
  });

  it('connects to the first address only', async () => {
    const target = await started('echo-and-close');
    const resolver: Resolver = {
      resolve: () =>
        Promise.resolve([
          { address: '127.0.0.2', family: 4 },
          { address: '127.0.0.1', family: 4 },
        ]),
    };
    const { error, address } = await converse({ ...target, host: 'two.example' }, { resolver });
    expect(error).toMatchObject({ kind: 'connection-refused', phase: 'tcp', code: 'ECONNREFUSED' });
    expect(address).toBe('127.0.0.2');
  });

  it('reaches IPv6 literals', async () => {
    const target = await started('echo-and-close', { host: '::1' });
    const { answer, address } = await converse(target, { data: 'six' });
    expect(answer.toString()).toBe('six');
    expect(address).toBe('::1');
  });

  it('blames a closed port with address and port', async () => {
    const port = await closedPort();
    const { error, isConnected, phases } = await converse({ host: 'localhost', port });
    expect(error).toMatchObject({ kind: 'connection-refused', phase: 'tcp' });
    expect(error?.message).toBe(`connect ECONNREFUSED 127.0.0.1:${port}`);
    expect(error?.cause).toMatchObject({ syscall: 'connect', errno: -111 });
    expect(isConnected).toBe(false);
    expect(phases).toBeUndefined();
  });

  it('blames names that do not exist', async () => {
    const { error } = await converse({ host: 'does-not-exist.invalid', port: 80 });
    expect(error?.phase).toBe('dns');
    expect(['name-not-found', 'resolver-unavailable']).toContain(error?.kind);
  });

  it('leaves nothing behind on the peer, however it ends', async () => {
    for (const behaviour of Object.keys(tcpBehaviours) as (keyof typeof tcpBehaviours)[]) {
      // It does not read, so it does not notice the end either.
      if (behaviour === 'deaf') continue;
      const target = await startTcpTarget(behaviour);
      await converse(target, { data: 'x', timeoutMs: 150, idleGapMs: 20, maxAnswerBytes: 1000 });
      await expect.poll(() => target.openCount(), { timeout: 2000, message: behaviour }).toBe(0);
      await target.close();
    }
  });
});
