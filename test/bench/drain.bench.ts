import { request } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { FakeService } from '../helpers/agent/fake-service/fake-service.ts';
import { leasedRun } from '../helpers/agent/fake-service/leased-run.ts';
import { startAgentProcess, until } from '../helpers/picket-process.ts';
import { startHoldingTarget } from '../helpers/targets/holding-target.ts';
import { type Bench, numberOption, quantile } from './report.ts';

const bench: Bench = {
  usage: '[--rounds=10] [--runs=100] [--queued=50]',
  title: 'SIGTERM to an agent with work in hand',
  async run(run) {
    const rounds = numberOption(run, 'rounds', 10);
    const runs = numberOption(run, 'runs', 100);
    const queued = numberOption(run, 'queued', 50);
    const rows: string[][] = [];
    const unreadyMs: number[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      const drained = await drainOnce(runs, queued);
      unreadyMs.push(drained.unreadyMs);
      rows.push([
        String(round),
        drained.unreadyMs.toFixed(1),
        `${drained.livenessOk} of ${drained.livenessAsked}`,
        `${drained.reported} of ${runs}`,
        `${drained.released} of ${queued}`,
        String(drained.exitCode),
      ]);
      run.progress(`round ${round} of ${rounds}: unready after ${drained.unreadyMs.toFixed(1)} ms`);
    }
    return {
      columns: [
        'round',
        'readiness 503 after (ms)',
        'liveness 200',
        'runs reported',
        'leases released',
        'exit code',
      ],
      rows,
      notes: [
        `${runs} runs in flight and ${queued} leased but not started when the signal is sent. Readiness and liveness are asked in turn, without a pause, until the port closes.`,
      ],
      figures: {
        unready_p50_ms: quantile(unreadyMs, 0.5).toFixed(1),
        unready_max_ms: quantile(unreadyMs, 1).toFixed(1),
      },
    };
  },
};
export default bench;

async function drainOnce(runs: number, queued: number) {
  await using target = await startHoldingTarget();
  const service = new FakeService();
  await service.listen();
  const started = Array.from({ length: runs }, (_, index) => leasedRun(`${target.url}/${index}`));
  // One response with more runs than requested: the excess waits in the agent's lane.
  const extra = Array.from({ length: queued }, (_, index) => leasedRun(`${target.url}/queued-${index}`));
  for (const { runId, leaseNumber } of extra) service.leases.set(runId, { runId, leaseNumber });
  service.script = (call) =>
    call.name === 'claim'
      ? {
          change: (answer) => {
            const leased = answer.runs as unknown[];
            return leased.length === 0 ? answer : { ...answer, runs: [...leased, ...extra.splice(0)] };
          },
        }
      : undefined;
  const options = { serviceUrl: service.url, key: 'pl_0123456789abcdef' };
  await using agent = await startAgentProcess(options, { PROBE_CONCURRENCY: String(runs) });
  service.enqueue(...started);
  await until('the runs are in flight', () => target.waiting().length === runs, { process: agent.process });

  const sentAt = performance.now();
  agent.process.child.kill('SIGTERM');
  let unreadyMs = 0;
  let livenessAsked = 0;
  let livenessOk = 0;
  for (;;) {
    const readiness = await statusOf(`${agent.healthUrl}/-/readiness`);
    if (readiness === 503 && unreadyMs === 0) {
      unreadyMs = performance.now() - sentAt;
      target.release();
    }
    const liveness = readiness === null ? null : await statusOf(`${agent.healthUrl}/-/liveness`);
    if (liveness === null) break;
    livenessAsked += 1;
    if (liveness === 200) livenessOk += 1;
    await nextTurn();
  }
  const { code } = await agent.process.ended;
  const { released } = service;
  const reported = service.receipts.filter(({ status }) => status === 'accepted').length;
  await service.close();
  return { unreadyMs, livenessAsked, livenessOk, reported, released: released.length, exitCode: code };
}

/** The status of a path, or null if no program listens any longer. */
function statusOf(url: string): Promise<number | null> {
  return new Promise((resolve) => {
    const call = request(url, { agent: false }, (response) => {
      response.resume();
      response.on('close', () => resolve(response.statusCode ?? null));
    });
    call.on('error', () => resolve(null));
    call.end();
  });
}
