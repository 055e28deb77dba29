/**
 * The program of a probe thread. It loads the runners, runs orders and returns finished reports. Orders and reports are
 * sent in batches, because each message between threads has a cost.
 */
import { parentPort } from 'node:worker_threads';
import { checkTypes as allTypes } from '@picket/checks/index.ts';
import { trustAlso } from '@picket/lib/ca-directory.ts';
import { systemClock } from '@picket/lib/clock.ts';
import { toError } from '@picket/lib/errors.ts';
import { collectStartGarbage } from '@picket/lib/process/start-garbage.ts';
import { createEgressPolicy } from '@picket/probes/egress/policy.ts';
import { limitBodyMemory } from '@picket/probes/http/body/body-memory.ts';
import { openRunDelay } from '@picket/probes/sys/run-delay.ts';
import type { Capabilities, FinishedRun, RunOrder } from '../../run/contracts.ts';
import { LagMeter } from '../lag/lag-meter.ts';
import { ownThread, ThreadLoad } from '../lag/thread-load.ts';
import { RunPipeline } from '../run-pipeline.ts';
import { LifecycleScriptPort } from '../script/lifecycle-script-port.ts';
import { startOfThread } from '../threads/thread-ahead.ts';
import type { FromWorker, RunSituation, ToWorker } from '../threads/worker-protocol.ts';
import { AdmissionGate } from './admission-gate.ts';
import { GateStats } from './gate-stats.ts';

/** Runs start and end at different times; reports wait this long for others while more runs are active. */
const gatherMs = 5;

/** How often the thread reports that its event loop turns; see RunnerThread. */
const turnIntervalMs = 500;

if (!parentPort) throw new Error('a probe thread runs in a worker thread only');
const port = parentPort;
const start = startOfThread();
const { ownSecrets, checkTypes: wanted, egress, gateMemory } = start;
trustAlso(start.caCertificates ?? []);
if (start.bodyMemoryBytes !== undefined) limitBodyMemory(start.bodyMemoryBytes);

const runDelay = openRunDelay();
const phases = new LifecycleScriptPort();
const pipeline = new RunPipeline({
  clock: systemClock,
  lagMeter: new LagMeter(systemClock, runDelay && (() => runDelay().waitedMs)),
  ownSecrets,
  egress: createEgressPolicy(egress),
  hosts: { phases, kerberos: start.kerberos },
});
const board = new GateStats(gateMemory);
const gate = new AdmissionGate({ clock: systemClock, load: new ThreadLoad(ownThread), board });
const running = new Map<string, AbortController>();
let finished: FinishedRun[] = [];

port.on('message', (message: ToWorker) => {
  if (message.type === 'run') {
    for (const order of message.orders) void run(order, message.situation);
  } else if (message.type === 'withdraw') {
    gate.withdrawAll();
  } else if (message.type === 'lifecycle-scripts') {
    phases.connect(message.port);
  } else if (message.type === 'close') {
    port.close();
  } else if (message.type === 'abort') {
    for (const runId of message.runIds) {
      running.get(runId)?.abort(new DOMException('The run was stopped', 'AbortError'));
    }
  }
});

void begin();

async function begin(): Promise<void> {
  send({ type: 'ready', capabilities: await loadAll() });
  collectStartGarbage();
  const turned = () => board.turned(systemClock.monotonicMs());
  turned();
  setInterval(turned, turnIntervalMs).unref();
}

async function run(order: RunOrder, situation: RunSituation): Promise<void> {
  const stop = new AbortController();
  running.set(order.runId, stop);
  // A run that may start now starts now, not in a later turn.
  const entered = gate.enter(order.checkType, stop.signal);
  const isAdmitted = typeof entered === 'boolean' ? entered : await entered;
  const report = isAdmitted
    ? await pipeline.run(order, situation, stop.signal)
    : pipeline.unstarted(order, situation);
  if (isAdmitted) gate.leave();
  running.delete(order.runId);
  finished.push(report);
  if (running.size === 0) flush();
  else if (finished.length === 1) setTimeout(flush, gatherMs);
}

function flush(): void {
  if (finished.length === 0) return;
  const runs = finished;
  finished = [];
  send({ type: 'finished', runs });
}

/**
 * Loads every runner of the probe lane now: the first check must not wait for it, and a type that fails to load is not
 * offered. Checks of other lanes do not run in this thread.
 */
async function loadAll(): Promise<Capabilities> {
  const loaded: string[] = [];
  const backends: Record<string, string> = {};
  const failed: { name: string; reason: string }[] = [];
  const types = allTypes.filter(
    ({ name, lane, load }) => lane === 'probe' && load !== undefined && wanted.includes(name),
  );
  for (const type of types) {
    try {
      const { backend } = await pipeline.load(type);
      loaded.push(type.name);
      if (backend !== undefined) backends[type.name] = backend;
    } catch (thrown) {
      failed.push({ name: type.name, reason: toError(thrown).message });
    }
  }
  return { loaded, backends, failed };
}

function send(message: FromWorker): void {
  port.postMessage(message);
}
