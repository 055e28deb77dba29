import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ResultReport } from '../../src/protocol/agent/agent.ts';
import { AgentProcess } from '../helpers/agent/agent-process.ts';
import { FakeService } from '../helpers/agent/fake-service/fake-service.ts';
import { leasedRun } from '../helpers/agent/fake-service/leased-run.ts';
import { fillSpool } from '../helpers/agent/spool-backlog.ts';
import { Target } from '../helpers/agent/target.ts';
import { type Bench, numberOption, quantile } from './report.ts';

/**
 * An agent finds a backlog while the service takes no results; then the service takes them again. Measures how fast
 * the backlog arrives, and how long fresh results take meanwhile.
 */
const bench: Bench = {
  usage: '[--results=100000] [--detail=1500]',
  title: 'A backlog when the service is back',
  async run(run) {
    const count = numberOption(run, 'results', 100_000);
    const detailSize = numberOption(run, 'detail', 1500);
    const spool = mkdtempSync(join(tmpdir(), 'picket-backlog-'));
    const service = new FakeService();
    const target = new Target();
    await Promise.all([service.listen(), target.listen()]);
    const ids = new Set(fillSpool({ directory: spool, serviceUrl: service.url, count, detailSize }));
    run.progress(`${count} results are in the spool`);
    let isAway = true;
    // Recorded here, because searching all arrived results becomes slow.
    const arrived = new Map<string, string>();
    service.script = (call) => {
      if (call.name !== 'results') return undefined;
      if (isAway) return { isReset: true };
      for (const { runId, resultId } of call.body.results as ResultReport[]) arrived.set(runId, resultId);
      service.calls.length = 0;
      return undefined;
    };
    const agent = new AgentProcess({ SERVICE_URL: service.url, SPOOL_DIR: spool, LOG_LEVEL: 'info' });
    await agent.logged('connected to the service', 60_000);
    service.enqueue(...Array.from({ length: 50 }, () => leasedRun(target.url())));
    await sleep(3000);
    const cpuBefore = Number(
      /agent_cpu_seconds ([\d.e-]+)/.exec((await agent.get('/metrics')).body)?.[1] ?? 0,
    );
    isAway = false;
    const backAt = performance.now();
    const freshMs: number[] = [];
    let lateMs = 0;
    while (arrived.size < count) {
      const fresh = leasedRun(target.url());
      const askedAt = performance.now();
      service.enqueue(fresh);
      await service.waitFor('a fresh result', () => arrived.has(fresh.runId), 60_000);
      freshMs.push(performance.now() - askedAt);
      if (freshMs.length === 1) lateMs = performance.now() - backAt;
      await sleep(250);
    }
    await service
      .waitFor('all of them', () => ids.difference(new Set(arrived.values())).size === 0, 60_000)
      .catch(() => undefined);
    const seconds = (performance.now() - backAt) / 1000;
    const missing = ids.difference(new Set(arrived.values())).size;
    const duplicates = service.receipts.filter(({ status }) => status === 'duplicate').length;
    const metrics = (await agent.get('/metrics')).body;
    const cpuSeconds = Number(/agent_cpu_seconds ([\d.e-]+)/.exec(metrics)?.[1] ?? 0) - cpuBefore;
    const loopP99Ms = Number(/event_loop_delay_p99_seconds ([\d.e-]+)/.exec(metrics)?.[1] ?? 0) * 1000;
    await agent.kill();
    await Promise.all([service.close(), target.close()]);
    rmSync(spool, { recursive: true });
    const perSecond = Math.round(count / seconds);
    return {
      columns: [
        'backlog',
        'missing',
        'sent twice',
        'seconds',
        'results/s',
        'agent CPU (s)',
        'first fresh (ms)',
        'fresh p50 (ms)',
        'fresh max (ms)',
        'event loop p99 (ms)',
      ],
      rows: [
        [
          String(count),
          String(missing),
          String(duplicates),
          seconds.toFixed(1),
          String(perSecond),
          cpuSeconds.toFixed(1),
          lateMs.toFixed(0),
          quantile(freshMs, 0.5).toFixed(0),
          quantile(freshMs, 1).toFixed(0),
          loopP99Ms.toFixed(1),
        ],
      ],
      notes: [
        'Fresh: from the run being due to its result at the service, one run at a time while the backlog comes in. First fresh: the first result that was due after the service was back, from that moment.',
        'The service of this bench is a process on the same machine that only counts results; it shares the cores with the agent.',
      ],
      figures: {
        missing,
        cpu_s: cpuSeconds.toFixed(1),
        per_second: perSecond,
        first_fresh_ms: lateMs.toFixed(0),
        fresh_max_ms: quantile(freshMs, 1).toFixed(0),
      },
    };
  },
};
export default bench;
