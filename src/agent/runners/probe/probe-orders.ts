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
import { RunStop } from '../../run/run-stop.ts';
import { inOneBuffer } from '../../scrub/report-texts.ts';
import { LagMeter } from '../lag/lag-meter.ts';
import { ownThread, ThreadLoad } from '../lag/thread-load.ts';
import { RunPipeline } from '../run-pipeline.ts';
import { LifecycleScriptPort } from '../script/lifecycle-script-port.ts';
import { startOfThread } from '../threads/thread-ahead.ts';
import type { FromWorker, RunSituation, ToWorker } from '../threads/worker-protocol.ts';
import { AdmissionGate } from './admission-gate.ts';
import { FinishedReports } from './finished-reports.ts';
import { GateStats } from './gate-stats.ts';
import { HeldOrders } from './held-orders.ts';

/** Runs start and end at different times; reports wait this long for others while more runs are active. */
const gatherMs = 5;
/** The same for reports that the main thread would keep for a second. */
const patientGatherMs = 200;

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
const running = new Map<string, RunStop>();
const held = new HeldOrders({
  clock: systemClock,
  start: (order, situation) => void run(order, situation),
  onLate: () => send({ type: 'late' }),
});
const finished = new FinishedReports({
  clock: systemClock,
  send: (runs) => {
    const { buffer, reports } = inOneBuffer(runs.map(({ report }) => report));
    const sent = runs.map((run, index) => ({ ...run, report: { ...run.report, ...reports[index] } }));
    port.postMessage({ type: 'finished', runs: sent } satisfies FromWorker, [buffer]);
  },
});
/** Whether reports may wait longer than those of active runs. */
let isPatient = true;

port.on('message', (message: ToWorker) => {
  if (message.type === 'run') {
    isPatient = true;
    for (const order of message.orders) {
      if (!held.hold(order, message.situation)) void run(order, message.situation);
    }
  } else if (message.type === 'start-late') {
    held.startLate();
  } else if (message.type === 'withdraw') {
    isPatient = false;
    for (const { order, situation } of held.removeAll()) returnUnstarted(order, situation);
    gate.withdrawAll();
    finished.sendAll();
  } else if (message.type === 'lifecycle-scripts') {
    phases.connect(message.port);
  } else if (message.type === 'close') {
    port.close();
  } else if (message.type === 'abort') {
    for (const runId of message.runIds) {
      const waiting = held.remove(runId);
      if (waiting) returnUnstarted(waiting.order, waiting.situation);
      else running.get(runId)?.abort(new DOMException('The run was stopped', 'AbortError'));
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
  const stop = new RunStop();
  running.set(order.runId, stop);
  // A run that may start now starts now, not in a later turn.
  const entered = gate.enter(order.checkType, stop);
  const isAdmitted = typeof entered === 'boolean' ? entered : await entered;
  const report = isAdmitted
    ? await pipeline.run(order, situation, stop)
    : pipeline.unstarted(order, situation);
  if (isAdmitted) gate.leave();
  running.delete(order.runId);
  if (mayWait(order, situation, report)) finished.add(report, patientGatherMs);
  else finished.add(report, running.size === 0 ? 0 : gatherMs);
}

function returnUnstarted(order: RunOrder, situation: RunSituation): void {
  finished.add(pipeline.unstarted(order, situation), gatherMs);
}

/**
 * Whether a report may wait longer than usual: its lane needs no place, the main thread would keep it, and if the thread
 * died with it the run could be repeated.
 */
function mayWait(order: RunOrder, { spareRuns }: RunSituation, { facts: { verdict } }: FinishedRun): boolean {
  if (!isPatient || order.mayReportLater !== true || verdict !== 'passed') return false;
  return finished.count < spareRuns && gate.waitingCount === 0 && pipeline.isRepeatable(order);
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
