import { spawnSync } from 'node:child_process';
import { afterAll, describe, expect, it } from 'vitest';
import { startFilteredTarget } from '../../helpers/targets/filtered-target.ts';
import { converse } from '../../helpers/targets/tcp-request.ts';
import {
  binaryBanner,
  startTcpTarget,
  type TcpBehaviour,
  type TcpTarget,
} from '../../helpers/targets/tcp-target.ts';

const targets: TcpTarget[] = [];
afterAll(() => Promise.all(targets.map((target) => target.close())));

async function started(behaviour: TcpBehaviour): Promise<TcpTarget> {
  const target = await startTcpTarget(behaviour);
  targets.push(target);
  return target;
}

describe('a peer', () => {
  it('that closes at once has sent an empty response', async () => {
    const { error, answer, isConnected } = await converse(await started('close'));
    expect({ error, text: answer.toString(), isConnected }).toEqual({
      error: undefined,
      text: '',
      isConnected: true,
    });
  });

  it('that resets has broken off the connection', async () => {
    const { error, isConnected } = await converse(await started('reset'), { data: 'hello' });
    expect(error?.kind).toBe('connection-reset');
    expect(isConnected).toBe(true);
  });

  it('that resets after its banner keeps the banner visible', async () => {
    const { error, answer, isTruncated } = await converse(await started('banner-then-reset'), {
      data: 'EHLO\r\n',
      idleGapMs: 5000,
    });
    expect(error).toMatchObject({ kind: 'connection-reset', phase: 'data' });
    expect(answer.toString()).toBe('220 hello\r\n');
    expect(isTruncated).toBe(true);
  });

  it('that sends its banner in pieces is read to the end', async () => {
    const { answer, phases } = await converse(await started('banner-in-pieces'), { idleGapMs: 3000 });
    expect(answer.toString()).toBe('220 grüße ready\r\n');
    expect(phases?.data).toBeGreaterThan(100);
  });

  it('that pauses longer than the gap is cut there', async () => {
    const { answer, error } = await converse(await started('banner-in-pieces'), { idleGapMs: 20 });
    expect(error).toBeUndefined();
    expect(answer.length).toBe(7);
  });

  it('that sends binary data keeps all of it', async () => {
    const { answer } = await converse(await started('binary-banner'));
    expect(answer).toEqual(binaryBanner);
  });

  it('that closes only its own side is done', async () => {
    const { answer, error } = await converse(await started('half-open'), { data: 'x', idleGapMs: 60_000 });
    expect(error).toBeUndefined();
    expect(answer.toString()).toBe('bye');
  });

  it.each(['silent', 'deaf'] as const)('that is %s is blamed at the deadline', async (behaviour) => {
    const target = await started(behaviour);
    const { error, isConnected, elapsedMs, measurement } = await converse(target, {
      data: 'x'.repeat(8 * 1024 * 1024),
      timeoutMs: 250,
    });
    expect(error).toMatchObject({ kind: 'response-timeout', phase: 'data', code: 'ETIMEDOUT' });
    expect(error?.message).toBe(`timed out after 250 ms while waiting for data (127.0.0.1:${target.port})`);
    expect(isConnected).toBe(true);
    expect(elapsedMs + measurement.overheadMs).toBeGreaterThanOrEqual(249);
  });

  it('that sends single bytes endlessly is cut off at the deadline', async () => {
    const target = await started('trickle');
    const startedMs = performance.now();
    const { error, answer, isTruncated } = await converse(target, {
      timeoutMs: 1000,
      // A machine that stalls for a moment must not look like the end of the reply.
      idleGapMs: 60_000,
    });
    expect(error).toBeUndefined();
    expect(isTruncated).toBe(true);
    expect(answer.toString()).toMatch(/^x+$/);
    expect(answer.length).toBeLessThan(60);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(999);
  });

  it.each(['flood', 'torrent'] as const)('that sends a %s is cut at the size limit', async (behaviour) => {
    const { error, answer, isTruncated } = await converse(await started(behaviour), {
      timeoutMs: 20_000,
      // A machine that stalls for a moment must not look like the end of the reply.
      idleGapMs: 60_000,
      maxAnswerBytes: 300_000,
    });
    expect(error).toBeUndefined();
    expect(isTruncated).toBe(true);
    expect(answer.length).toBe(300_000);
  });

  it('whose response has exactly the limit is complete', async () => {
    const target = await started('echo-and-close');
    const { answer, isTruncated } = await converse(target, { data: 'x'.repeat(100), maxAnswerBytes: 100 });
    expect(answer.length).toBe(100);
    expect(isTruncated).toBe(false);
  });

  it('cannot fill the memory, however fast it sends', () => {
    const script = `
      import { converse } from ${JSON.stringify(new URL('../../helpers/targets/tcp-request.ts', import.meta.url).href)};
      import { startTcpTarget } from ${JSON.stringify(new URL('../../helpers/targets/tcp-target.ts', import.meta.url).href)};
      const target = await startTcpTarget('torrent');
      await converse(target, { maxAnswerBytes: 1000 });
      const before = process.resourceUsage().maxRSS;
      for (let run = 0; run < 20; run += 1) await converse(target, { timeoutMs: 20_000 });
      console.log(process.resourceUsage().maxRSS - before);
      process.exit();
    `;
    const child = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      encoding: 'utf8',
    });
    expect(child.stderr).toBe('');
    expect(Number(child.stdout)).toBeLessThan(64 * 1024);
  });
});

describe('a filtered port', () => {
  it('is a connection that timed out', async () => {
    await using target = await startFilteredTarget();
    const { error, isConnected } = await converse(target, { timeoutMs: 300 });
    expect(error).toMatchObject({ kind: 'connection-timeout', phase: 'tcp', code: 'ETIMEDOUT' });
    expect(error?.message).toBe(`timed out after 300 ms while connecting (127.0.0.1:${target.port})`);
    expect(isConnected).toBe(false);
  });
});

describe('a conversation that is stopped', () => {
  it('ends at once and says so', async () => {
    const controller = new AbortController();
    const running = converse(await started('silent'), { signal: controller.signal, timeoutMs: 60_000 });
    controller.abort(new Error('lease lost'));
    expect((await running).error?.kind).toBe('aborted');
  });

  it('says so even if data was read', async () => {
    const controller = new AbortController();
    const target = await started('trickle');
    const running = converse(target, { signal: controller.signal, timeoutMs: 60_000 });
    setTimeout(() => controller.abort(), 150);
    expect((await running).error?.kind).toBe('aborted');
  });

  it('does not even connect if it was stopped before', async () => {
    const target = await started('silent');
    const { error } = await converse(target, { signal: AbortSignal.abort() });
    expect(error?.kind).toBe('aborted');
    expect(target.connectionCount()).toBe(0);
  });

  it('has passed its deadline if the signal says so', async () => {
    const { error } = await converse(await started('silent'), {
      signal: AbortSignal.timeout(100),
      timeoutMs: 60_000,
    });
    expect(error?.kind).toBe('response-timeout');
  });
});
