import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AgentProcess } from '../helpers/agent/agent-process.ts';
import { FakeService } from '../helpers/agent/fake-service/fake-service.ts';
import { leasedRun } from '../helpers/agent/fake-service/leased-run.ts';
import { Target } from '../helpers/agent/target.ts';
import { type Bench, numberOption, quantile } from './report.ts';

/**
 * Agents with one spool, each killed with SIGKILL at a random instant up to `life` milliseconds after its first claim,
 * or before it. Runs arrive continuously, and half of the uploads of results fail, before or after the service has
 * stored them. A result counts as kept if an agent reported it as on disk.
 */
const bench: Bench = {
  usage: '[--kills=1000] [--life=1500] [--minutes=120]',
  title: 'Agents killed at random instants',
  async run(run) {
    const kills = numberOption(run, 'kills', 1000);
    const lifeMs = numberOption(run, 'life', 1500);
    const endAt = performance.now() + numberOption(run, 'minutes', 120) * 60_000;
    const spool = mkdtempSync(join(tmpdir(), 'picket-kills-'));
    const service = new FakeService();
    const target = new Target();
    await Promise.all([service.listen(), target.listen()]);
    const kept = new Set<string>();
    const startMs: number[] = [];
    let unclean = 0;
    let killed = 0;
    const environment = { SERVICE_URL: service.url, SPOOL_DIR: spool };
    service.script = (call) => {
      if (call.name !== 'results' || Math.random() < 0.5) return undefined;
      return Math.random() < 0.5 ? { statusCode: 503 } : { isAnswerLost: true };
    };
    const feed = setInterval(() => {
      // Unclaimed runs must not pile up.
      if (service.queuedCount < 1000)
        service.enqueue(...Array.from({ length: 5 }, () => leasedRun(target.url())));
    }, 20);
    try {
      for (let kill = 1; kill <= kills && performance.now() < endAt; kill++) {
        const startedAt = performance.now();
        const agent = new AgentProcess(environment);
        // One in ten is killed while it starts, with whatever it finds in the spool.
        if (kill % 10 === 0) await sleep(Math.random() * lifeMs);
        else {
          await agent.logged('connected to the service', 120_000);
          startMs.push(performance.now() - startedAt);
          await sleep(Math.random() * lifeMs);
        }
        if (agent.child.exitCode !== null) unclean++;
        await agent.kill();
        killed++;
        note(agent, kept);
        // Leases and recorded calls are no longer needed, and would pile up over a thousand rounds.
        service.calls.length = 0;
        service.leases.clear();
        if (kill % 10 === 0)
          run.progress(`${kill} kills: ${kept.size} results kept, ${service.results.length} came`);
      }
    } finally {
      clearInterval(feed);
    }
    service.script = undefined;
    const last = new AgentProcess(environment);
    const lost = () => kept.difference(new Set(service.results.map(({ resultId }) => resultId)));
    await service.waitFor('what was kept', () => lost().size === 0, 60_000).catch(() => undefined);
    const lostCount = lost().size;
    const duplicates = service.receipts.filter(({ status }) => status === 'duplicate').length;
    await last.kill();
    await Promise.all([service.close(), target.close()]);
    rmSync(spool, { recursive: true });
    return {
      columns: [
        'kills',
        'results on disk',
        'of them lost',
        'sent twice',
        'ended by themselves',
        'start p50 (ms)',
        'start max (ms)',
      ],
      rows: [
        [
          String(killed),
          String(kept.size),
          String(lostCount),
          String(duplicates),
          String(unclean),
          quantile(startMs, 0.5).toFixed(0),
          quantile(startMs, 1).toFixed(0),
        ],
      ],
      notes: [
        'On disk is what an agent said to be there before it was killed. Half of all uploads fail, so most results are in the spool for a while.',
        'Start is the time from the process to its first answered claim, with whatever the spool holds.',
      ],
      figures: { kills: killed, kept: kept.size, lost: lostCount, duplicates, unclean },
    };
  },
};
export default bench;

function note(agent: AgentProcess, kept: Set<string>): void {
  for (const { msg, results } of agent.logLines) {
    if (msg === 'results written to disk') for (const id of results as string[]) kept.add(id);
  }
}
