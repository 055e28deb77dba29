import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sameStopMs } from '../../../src/lib/process/stop-requests.ts';
import type { AgentProcess } from '../../helpers/agent/agent-process.ts';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { Stage } from '../../helpers/agent/stage.ts';
import { sampleOf } from '../../helpers/night.ts';
import { leaveArtifacts } from '../../helpers/program.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';

const png = (name: string, sizeBytes: number) => ({ name, contentType: 'image/png', sizeBytes, fill: 7 });

let spool: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  spool = temporaryFolder();
});
afterEach(() => spool.remove());

async function start(stage: Stage, environment: Record<string, string> = {}): Promise<AgentProcess> {
  const agent = stage.startAgent({ SPOOL_DIR: spool.path, ...environment }, ['--import', leaveArtifacts]);
  await agent.logged('connected to the service');
  return agent;
}

/** A run that leaves these artifacts. */
const leaving = (stage: Stage, ...artifacts: object[]) =>
  leasedRun(stage.target.url(`/?artifacts=${encodeURIComponent(JSON.stringify(artifacts))}`));

/** The artifact folders on the agent's disk, one per run. */
const onDisk = () =>
  readdirSync(spool.path).flatMap((name) => readdirSync(join(spool.path, name, 'artifacts')));

describe('artifacts of a run', () => {
  it('are sent after its result, which lists them', async () => {
    await using stage = await Stage.open();
    const { service } = stage;
    const agent = await start(stage, { SERVICE_SECRET_TOKEN: 'correct-horse' });
    const run = leaving(
      stage,
      png('shots/one.png', 1_000_000),
      { name: 'out.log', contentType: 'text/plain', text: 'token correct-horse' },
      { name: 'empty.png', contentType: 'image/png', sizeBytes: 0, fill: 0 },
      { name: 'archive.bz2', contentType: 'application/zip', text: 'BZh91AY' },
      { name: '../escape.png', contentType: 'image/png', text: 'x' },
    );
    service.enqueue(run);
    await service.waitFor('three artifacts', () => service.inbox.stored.size === 3);
    const result = service.resultOf(run.runId);
    expect(result?.artifacts).toMatchObject([
      { name: 'shots/one.png', state: 'awaited', sizeBytes: 1_000_000 },
      { name: 'out.log', state: 'awaited', sizeBytes: 15 },
      { name: 'empty.png', state: 'awaited', sizeBytes: 0 },
      { name: 'archive.bz2', state: 'withheld' },
      { name: '../escape.png', state: 'refused' },
    ]);
    for (const { name, sha256, state } of result?.artifacts ?? []) {
      const bytes = service.inbox.stored.get(`${run.runId}/${name}`);
      expect(bytes !== undefined).toBe(state === 'awaited');
      if (bytes) expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
    }
    expect(service.inbox.stored.get(`${run.runId}/out.log`)?.toString()).toBe('token *********');
    for (const call of service.inbox.calls) expect(call.leaseNumber).toBe(1);
    await service.waitFor('an empty disk', () => onDisk().length === 0);
    expect((await agent.get('/metrics')).body).toContain('picket_agent_artifacts_total{end="stored"} 3');
    agent.signal('SIGTERM');
    expect(await agent.exited).toEqual({ code: 0, signal: null });
    expect(readdirSync(spool.path)).toEqual([]);
  });

  it('are sent again when the connection breaks at any point', async () => {
    await using stage = await Stage.open();
    const { service } = stage;
    const points = sampleOf([1, 70_000, 1_500_000, 2_999_999], 2);
    service.inbox.script = (_call, index) => {
      const breakAtBytes = points[index];
      if (breakAtBytes !== undefined) return { breakAtBytes };
      if (index === points.length) return { isAnswerLost: true };
      return index === points.length + 1 ? { statusCode: 507 } : undefined;
    };
    const agent = await start(stage);
    service.enqueue(leaving(stage, png('a.png', 3_000_000)));
    await service.waitFor('the last upload', () => service.inbox.calls.length === points.length + 3, 30_000);
    await service.waitFor('an empty disk', () => onDisk().length === 0);
    expect([...service.inbox.stored.values()].map((bytes) => bytes.length)).toEqual([3_000_000]);
    expect((await agent.get('/metrics')).body).toContain('picket_agent_artifacts_total{end="stored"} 1');
  });

  it.each([409, 404, 413])('are given up when the service responds with %i', async (statusCode) => {
    await using stage = await Stage.open();
    const { service } = stage;
    service.inbox.script = () => ({ statusCode });
    const agent = await start(stage);
    service.enqueue(leaving(stage, png('a.png', 3_000_000)));
    await agent.logged('failed to send artifact; giving up');
    await service.waitFor('an empty disk', () => onDisk().length === 0);
    expect(service.inbox.calls).toHaveLength(1);
    expect(service.results).toHaveLength(1);
    agent.signal('SIGTERM');
    expect(await agent.exited).toEqual({ code: 0, signal: null });
  });

  it('never delay results and renewals', async () => {
    await using stage = await Stage.open();
    const { service } = stage;
    service.leaseTtlMs = 1500;
    const resume = Promise.withResolvers<void>();
    service.inbox.script = () => ({ untilResumed: resume.promise });
    await start(stage);
    service.enqueue(
      ...Array.from({ length: 5 }, (_, index) => leaving(stage, png(`${index}.png`, 4_000_000))),
    );
    await service.waitFor('two uploads under way', () => service.inbox.calls.length === 2);
    const held = leasedRun(stage.target.url('/hold/1'));
    const quick = leasedRun(stage.target.url());
    service.enqueue(held, quick);
    await service.waitFor('the result of another run', () => service.resultOf(quick.runId));
    const renewals = service.callsOf('renew').length;
    await service.waitFor('renewals', () => service.callsOf('renew').length > renewals + 2);
    expect(service.inbox.calls).toHaveLength(2);
    resume.resolve();
    await service.waitFor('all artifacts', () => service.inbox.stored.size === 5);
  });

  it('are dropped with a late result', async () => {
    await using stage = await Stage.open();
    const { service } = stage;
    await start(stage);
    const run = leaving(stage, png('a.png', 1000));
    service.enqueue(run);
    // The lease is lost before the result arrives.
    service.script = (call) => {
      if (call.name === 'results') service.loseLease(run.runId);
      return undefined;
    };
    await service.waitFor('the receipt', () => service.receipts.some(({ status }) => status === 'stale'));
    await service.waitFor('an empty disk', () => onDisk().length === 0);
    expect(service.inbox.calls).toEqual([]);
  });

  it('are dropped if more than SPOOL_MAX_BYTES wait', async () => {
    await using stage = await Stage.open();
    const { service } = stage;
    const resume = Promise.withResolvers<void>();
    service.inbox.script = () => ({ untilResumed: resume.promise });
    const agent = await start(stage, { SPOOL_MAX_BYTES: '2500000' });
    for (let index = 0; index < 4; index++) {
      const run = leaving(stage, png(`${index}.png`, 1_000_000));
      service.enqueue(run);
      await service.waitFor('its result', () => service.resultOf(run.runId));
    }
    await agent.logged('the oldest were dropped');
    await service.waitFor('two runs on disk', () => onDisk().length === 2);
    resume.resolve();
    await service.waitFor('the newest', () =>
      [...service.inbox.stored.keys()].some((key) => key.endsWith('3.png')),
    );
  });
});

describe('stopping', () => {
  it('sends what waits, within the grace', async () => {
    await using stage = await Stage.open();
    const { service } = stage;
    const resume = Promise.withResolvers<void>();
    service.inbox.script = () => ({ untilResumed: resume.promise });
    const agent = await start(stage);
    service.enqueue(leaving(stage, png('a.png', 4_000_000), png('b.png', 10), png('c.png', 10)));
    await service.waitFor('uploads under way', () => service.inbox.calls.length === 2);
    agent.signal('SIGTERM');
    await agent.logged('stopping');
    resume.resolve();
    expect(await agent.exited).toEqual({ code: 0, signal: null });
    expect(service.inbox.stored.size).toBe(3);
  });

  it('reports what it had to leave at a second signal', async () => {
    await using stage = await Stage.open();
    const { service } = stage;
    service.inbox.script = () => ({ untilResumed: new Promise(() => undefined) });
    const agent = await start(stage);
    service.enqueue(leaving(stage, png('a.png', 4_000_000), png('b.png', 10), png('c.png', 10)));
    await service.waitFor('uploads under way', () => service.inbox.calls.length === 2);
    agent.signal('SIGTERM');
    await agent.logged('stopping');
    await delay(sameStopMs);
    agent.signal('SIGTERM');
    expect(await agent.exited).toEqual({ code: 1, signal: null });
    expect(await agent.logged('stay in the spool')).toMatchObject({ artifacts: 3 });
    expect(onDisk()).toHaveLength(1);
  });

  it('hard leaves files, which the next agent sends; those of others remain', async () => {
    await using stage = await Stage.open();
    const { service } = stage;
    service.inbox.script = () => ({ untilResumed: new Promise(() => undefined) });
    const agent = await start(stage);
    service.enqueue(leaving(stage, png('a.png', 4_000_000)));
    await service.waitFor('an upload under way', () => service.inbox.calls.length === 1);
    // The result is sent and written to disk at the same time: an upload in progress does not prove that it is on disk.
    await expect
      .poll(async () => JSON.parse((await agent.get('/health')).body) as unknown)
      .toMatchObject({ spool: { inMemoryOnly: 0 } });
    await agent.kill();
    expect(onDisk()).toHaveLength(1);
    // A run that was in progress when its agent was killed: its files are orphaned.
    const [folder = ''] = readdirSync(spool.path);
    mkdirSync(join(spool.path, folder, 'artifacts', 'of-a-run-without-a-result'));
    const others = ['picket-spool.0123456789abcdef.0', 'something-else'];
    for (const name of others) mkdirSync(join(spool.path, name, 'artifacts'), { recursive: true });
    service.inbox.script = undefined;
    await start(stage);
    await service.waitFor('the artifact', () => service.inbox.stored.size === 1);
    expect(service.receipts.map(({ status }) => status)).toEqual(['accepted', 'duplicate']);
    await service.waitFor('an empty disk', () => onDisk().length === 0);
    expect(readdirSync(spool.path)).toEqual(expect.arrayContaining(others));
  });
});

it('continues without artifacts if SPOOL_DIR cannot be used', async () => {
  await using stage = await Stage.open();
  const { service } = stage;
  const agent = await start(stage, { SPOOL_DIR: '/proc/nowhere' });
  expect(await agent.logged('SPOOL_DIR cannot be used')).toMatchObject({
    reason: expect.stringMatching(/^E/),
  });
  const run = leaving(stage, png('a.png', 10));
  service.enqueue(run);
  const result = await service.waitFor('the result', () => service.resultOf(run.runId));
  expect(result.artifacts).toBeUndefined();
});
