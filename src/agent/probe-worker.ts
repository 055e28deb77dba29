/**
 * Entry of a probe thread. It loads the runners, runs what it is told and answers with finished reports. Orders and
 * answers travel in batches, because each message between threads has a price of its own.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { checkTypes } from '../checks/index.ts';
import { systemClock } from '../lib/clock.ts';
import { toError } from '../lib/errors.ts';
import { createEgressPolicy } from '../probes/egress/policy.ts';
import { LagMeter } from './lag-meter.ts';
import { RunPipeline } from './run-pipeline.ts';
import type {
  Capabilities,
  FinishedRun,
  FromWorker,
  RunOrder,
  ToWorker,
  WorkerStart,
} from './worker-message.ts';

if (!parentPort) throw new Error('probe-worker runs in a worker thread only');
const port = parentPort;
const { ownSecrets, egress } = workerData as WorkerStart;

const pipeline = new RunPipeline({
  clock: systemClock,
  lagMeter: new LagMeter(systemClock),
  ownSecrets,
  egress: createEgressPolicy(egress),
});
const running = new Map<string, AbortController>();
let finished: FinishedRun[] = [];

port.on('message', (message: ToWorker) => {
  if (message.type === 'run') {
    for (const order of message.orders) void run(order, message.serviceOffsetMs);
  } else {
    for (const runId of message.runIds) {
      running.get(runId)?.abort(new DOMException('The run was stopped', 'AbortError'));
    }
  }
});

send({ type: 'ready', capabilities: await loadAll() });

async function run(order: RunOrder, serviceOffsetMs: number): Promise<void> {
  const stop = new AbortController();
  running.set(order.runId, stop);
  const report = await pipeline.run(order, serviceOffsetMs, stop);
  running.delete(order.runId);
  finished.push(report);
  if (finished.length === 1) setImmediate(flush);
}

function flush(): void {
  const runs = finished;
  finished = [];
  send({ type: 'finished', runs });
}

/**
 * Loads every runner of the probe lane now: the first check must not wait for it, and what does not load is not promised.
 * Other lanes' checks do not run in this thread.
 */
async function loadAll(): Promise<Capabilities> {
  const loaded: string[] = [];
  const failed: { name: string; reason: string }[] = [];
  for (const type of checkTypes.filter(({ lane }) => lane === 'probe')) {
    try {
      await pipeline.load(type);
      loaded.push(type.name);
    } catch (thrown) {
      failed.push({ name: type.name, reason: toError(thrown).message });
    }
  }
  return { loaded, failed };
}

function send(message: FromWorker): void {
  port.postMessage(message);
}
