import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AgentProcess } from '../../helpers/agent/agent-process.ts';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { fillSpool } from '../../helpers/agent/spool-backlog.ts';
import { Stage } from '../../helpers/agent/stage.ts';
import { isNight } from '../../helpers/night.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';

// Several agents are started in sequence, which is slow on a busy machine.
vi.setConfig({ testTimeout: 300_000 });

let spool: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  spool = temporaryFolder();
});
afterEach(() => spool.remove());

interface SpoolHealth {
  readonly mode: string;
  readonly problem: string | null;
  readonly results: number;
  readonly inMemoryOnly: number;
  readonly sizeBytes: number;
  readonly dropped: Readonly<Record<string, number>>;
  readonly damagedParts: number;
}

async function spoolOf(agent: AgentProcess): Promise<SpoolHealth> {
  return (JSON.parse((await agent.get('/health')).body) as { spool: SpoolHealth }).spool;
}

/** Waits until the agent's health matches. */
async function healthy(agent: AgentProcess, what: string, test: (health: SpoolHealth) => boolean) {
  for (let tries = 0; ; tries++) {
    const health = await spoolOf(agent);
    if (test(health)) return health;
    if (tries > 900) throw new Error(`waited in vain for ${what}: ${JSON.stringify(health)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const start = (stage: Stage, environment: Record<string, string> = {}) =>
  stage.connectedAgent({ SPOOL_DIR: spool.path, ...environment });
const runsOf = (stage: Stage, count: number, path = '/') =>
  Array.from({ length: count }, () => leasedRun(stage.target.url(path)));
const segments = () =>
  readdirSync(spool.path, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.seg'));

describe('results that the service does not accept', () => {
  it('survive the agent; the next one sends them, each once', async () => {
    await using stage = await Stage.open();
    const { service } = stage;
    service.script = (call) => (call.name === 'results' ? { statusCode: 503 } : undefined);
    const first = await start(stage);
    const runs = runsOf(stage, 20);
    service.enqueue(...runs);
    await healthy(first, '20 results', ({ results, inMemoryOnly }) => results === 20 && inMemoryOnly === 0);
    await first.kill();
    service.script = undefined;
    const second = await start(stage);
    await service.waitFor('all results', () => runs.every(({ runId }) => service.resultOf(runId)));
    expect(service.receipts.map(({ status }) => status)).toEqual(runs.map(() => 'accepted'));
    await healthy(second, 'nothing left', ({ results }) => results === 0);
    second.signal('SIGTERM');
    expect(await second.exited).toEqual({ code: 0, signal: null });
    expect(readdirSync(spool.path)).toEqual([]);
  });

  it('do not prevent a clean stop of the agent: they are safe', async () => {
    await using stage = await Stage.open();
    const { service } = stage;
    const first = await start(stage);
    service.script = (call) => (call.name === 'results' ? { isReset: true } : undefined);
    const [run = leasedRun('')] = runsOf(stage, 1);
    service.enqueue(run);
    await healthy(first, 'a result', ({ results, inMemoryOnly }) => results === 1 && inMemoryOnly === 0);
    first.signal('SIGTERM');
    expect(await first.exited).toEqual({ code: 0, signal: null });
    expect(await first.logged('stay in the spool')).toMatchObject({ results: 1, leases: 0 });
    service.script = undefined;
    await start(stage);
    await service.waitFor('the result', () => service.resultOf(run.runId));
  });

  it('are dropped oldest first if there are too many, which is visible', async () => {
    await using stage = await Stage.open();
    const { service } = stage;
    fillSpool({ directory: spool.path, serviceUrl: service.url, count: 3000, detailSize: 500 });
    service.script = (call) => (call.name === 'results' ? { statusCode: 503 } : undefined);
    const agent = await start(stage, { SPOOL_MAX_BYTES: '1000000' });
    service.enqueue(...runsOf(stage, 1));
    const health = await healthy(agent, 'drops', ({ dropped }) => (dropped.finals ?? 0) > 0);
    expect(health.sizeBytes).toBeLessThanOrEqual(1_000_000);
    // More may be dropped meanwhile, never fewer.
    const told = Number(health.dropped.finals);
    const metrics = (await agent.get('/metrics')).body;
    const counted = /picket_agent_results_dropped_total\{kind="finals"\} (\d+)/.exec(metrics)?.[1];
    expect(Number(counted)).toBeGreaterThanOrEqual(told);
    service.enqueue(...runsOf(stage, 1));
    await service.waitFor('a claim that tells of it', () =>
      service.callsOf('claim').some(({ body }) => Number(body.droppedResults) >= told),
    );
  });
});

describe('a backlog', () => {
  it('does not keep fresh results waiting', async () => {
    await using stage = await Stage.open();
    const { service } = stage;
    const count = 8000;
    fillSpool({ directory: spool.path, serviceUrl: service.url, count, detailSize: 200 });
    service.script = (call) => (call.name === 'results' ? { isReset: true } : undefined);
    const agent = await start(stage);
    const runs = runsOf(stage, 10);
    service.enqueue(...runs);
    await healthy(agent, 'a backlog', ({ results }) => results > count);
    // The service is available again, but slow.
    service.script = (call) => (call.name === 'results' ? { delayMs: 200 } : undefined);
    const [fresh = leasedRun('')] = runsOf(stage, 1);
    service.enqueue(fresh);
    await service.waitFor('the fresh result', () => service.resultOf(fresh.runId));
    expect(service.results.length).toBeLessThan(count / 2);
    service.script = undefined;
    await service.waitFor('everything', () => service.results.length === count + 11, 30_000);
    expect(new Set(service.results.map(({ resultId }) => resultId)).size).toBe(count + 11);
  });

  it('with damaged parts is sent as far as it can be read', async () => {
    await using stage = await Stage.open();
    const { service } = stage;
    fillSpool({ directory: spool.path, serviceUrl: service.url, count: 100, detailSize: 200 });
    const [segment = ''] = segments();
    const path = join(spool.path, segment);
    const bytes = readFileSync(path);
    bytes.fill(0, bytes.length / 2, bytes.length / 2 + 50);
    writeFileSync(path, bytes.subarray(0, bytes.length - 10));
    writeFileSync(join(path, '../..', 'final-000000000009.seg'), '');
    const agent = await start(stage);
    // One in the middle, or two if the hole is between them, and the last.
    await service.waitFor('the others', () => service.results.length >= 97);
    const health = await healthy(agent, 'an empty spool', ({ results }) => results === 0);
    expect(health.damagedParts).toBe(1);
    expect(await agent.logged('damaged parts of the spool')).toMatchObject({ parts: 1 });
  });
});

describe('an unusable disk', () => {
  it('is reported, and results are kept in memory until it works', async () => {
    await using stage = await Stage.open();
    const { service } = stage;
    const agent = await start(stage, { SPOOL_DIR: join(spool.path, 'missing', 'spool') });
    expect(await agent.logged('SPOOL_DIR cannot be used')).toMatchObject({ reason: 'ENOENT' });
    service.script = (call) => (call.name === 'results' ? { statusCode: 503 } : undefined);
    const runs = runsOf(stage, 5);
    service.enqueue(...runs);
    await healthy(
      agent,
      'results in memory',
      ({ mode, inMemoryOnly }) => mode === 'memory' && inMemoryOnly === 5,
    );
    expect((await agent.get('/metrics')).body).toContain('picket_agent_spool_on_disk 0');
    mkdirSync(join(spool.path, 'missing'));
    await agent.logged('results are on disk again');
    await healthy(
      agent,
      'results on disk',
      ({ mode, inMemoryOnly }) => mode === 'disk' && inMemoryOnly === 0,
    );
    await agent.kill();
    service.script = undefined;
    await start(stage, { SPOOL_DIR: join(spool.path, 'missing', 'spool') });
    await service.waitFor('all results', () => runs.every(({ runId }) => service.resultOf(runId)));
  });

  it('ends the agent at once if it is required', async () => {
    await using stage = await Stage.open();
    const agent = stage.startAgent({ SPOOL_DIR: '/proc/nowhere', SPOOL_REQUIRED: 'true' });
    expect(await agent.exited).toEqual({ code: 2, signal: null });
    expect(agent.stderr).toContain('SPOOL_DIR cannot be used (ENOENT)');
  });
});

it('two agents of a location share a folder, but never a file', async () => {
  await using stage = await Stage.open();
  const { service } = stage;
  service.script = (call) => (call.name === 'results' ? { statusCode: 503 } : undefined);
  const agents = [await start(stage), await start(stage)];
  service.enqueue(...runsOf(stage, 1));
  service.enqueue(...runsOf(stage, 1));
  const onDisk = async () => {
    const spools = await Promise.all(agents.map(spoolOf));
    return spools.reduce((sum, { results, inMemoryOnly }) => sum + results - inMemoryOnly, 0);
  };
  // An upload does not prove it: one agent may send twice before the other has a result.
  await expect.poll(onDisk, { timeout: 90_000 }).toBe(2);
  expect(readdirSync(spool.path)).toHaveLength(2);
  // The first is gone for good: the next agent takes over its spool.
  await agents[0]?.kill();
  await agents[1]?.kill();
  service.script = undefined;
  await start(stage);
  await service.waitFor('both results', () => service.results.length === 2);
  expect(readdirSync(spool.path)).toHaveLength(1);
});

it('no result on disk is lost, whenever the agent is killed', { timeout: 300_000 }, async () => {
  const [leastKills, leastKept] = isNight ? [6, 20] : [3, 8];
  await using stage = await Stage.open();
  const { service } = stage;
  const kept = new Set<string>();
  const noteKept = (agent: AgentProcess) => {
    for (const { msg, results } of agent.logLines) {
      if (msg === 'results written to disk') for (const id of results as string[]) kept.add(id);
    }
  };
  // Every other upload fails, in one of two ways.
  service.script = (call, index) =>
    call.name === 'results' && index % 2 === 0
      ? { ...(index % 4 === 0 ? { statusCode: 503 } : { isAnswerLost: true }) }
      : undefined;
  const feed = setInterval(() => service.enqueue(...runsOf(stage, 3)), 20);
  try {
    for (let kill = 0; kill < leastKills || (kill < 60 && kept.size <= leastKept); kill++) {
      const agent = await start(stage);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 800));
      await agent.kill();
      noteKept(agent);
    }
  } finally {
    clearInterval(feed);
  }
  expect(kept.size).toBeGreaterThan(leastKept);
  service.script = undefined;
  await start(stage);
  const arrived = () => new Set(service.results.map(({ resultId }) => resultId));
  await service.waitFor('every result that was kept', () => kept.difference(arrived()).size === 0);
});
