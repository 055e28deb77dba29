import { setTimeout as delay } from 'node:timers/promises';
import { namespace } from '../agent-pods.ts';
import { type Look, ProbeWatch } from '../probe-watch.ts';
import type { ServiceSide } from '../service-side.ts';
import { seconds, type TrialLog } from '../trial-log.ts';
import type { Stage } from './stage.ts';

/** A pod is deleted while its agent is in the middle of a run. */
export async function deletion({ log, kubectl, pods, ends, service }: Stage): Promise<void> {
  log.heading('A pod is deleted in the middle of a check run');
  const check = await service.watchPage('/slow', { holdMs: 8000, intervalMs: 20_000 });
  await pods.ready(2);
  const request = await untilUnderWay(service, check.path);
  const all = await pods.all();
  const pod = all.find(({ address }) => request.address.endsWith(address));
  if (!pod) throw new Error(`no pod has the address ${request.address}`);
  const run = (await service.ledger.readAll()).runs.find(
    ({ checkId, state }) => checkId === check.id && state === 'leased',
  );
  log.note(
    `${pod.name} has asked for a page that takes 8 s; its run is leased under number ${run?.leaseNumber}`,
  );
  const watch = new ProbeWatch(pod.address);
  await delay(300);
  const deletedMs = performance.now();
  await kubectl.ask('-n', namespace, 'delete', 'pod', pod.name, '--wait=false');
  log.note(`kubectl delete pod, ${seconds(deletedMs - request.atMs)} after the request`);
  const replaced = pods.until(
    'its successor is ready',
    (now) => now.filter(({ isReady, isLeaving }) => isReady && !isLeaving).length === 2,
  );
  const end = await ends.until(pod.name, 90_000);
  const looks = await watch.end();
  showDrain(log, looks, deletedMs);
  log.expect(
    'the container ends with code 0',
    end.exitCode === 0,
    `${end.exitCode}, ${seconds(end.atMs - deletedMs)} after the deletion, ${seconds(end.atMs - request.atMs - 8000)} after the answer of the target was due`,
  );
  const { tookMs } = await replaced;
  log.note(`its successor is ready ${seconds(tookMs)} after the deletion`);
  const gone = await pods.until('the pod is gone', (now) => now.every(({ name }) => name !== pod.name));
  log.note(
    `the object of the pod is gone ${seconds(performance.now() - deletedMs)} after the deletion; ${gone.pods.length} are left`,
  );
  const rows = await service.ledger.readAll();
  const ended = rows.runs.find(({ id }) => id === run?.id);
  const results = rows.results.filter(({ runId }) => runId === run?.id);
  log.expect(
    'the run was finished under the same lease',
    ended?.state === 'final' && ended.leaseNumber === run?.leaseNumber,
    `${ended?.state}, lease ${ended?.leaseNumber}`,
  );
  log.expect(
    'the service has its result once, and it passed',
    results.length === 1 && results[0]?.hasFailures === 0 && results[0]?.hasErrors === 0,
    `${results.length} result, ${rows.stale.length} fenced`,
  );
}

function showDrain(log: TrialLog, looks: readonly Look[], deletedMs: number): void {
  const after = looks.filter(({ atMs, liveness }) => atMs > deletedMs && liveness !== 0);
  const refused = after.find(({ readiness }) => readiness === 503);
  const while503 = after.filter(({ atMs }) => refused && atMs >= refused.atMs);
  const lastMs = after.at(-1)?.atMs ?? deletedMs;
  log.expect(
    'readiness is 503 from the signal to the end',
    refused !== undefined && while503.every(({ readiness }) => readiness === 503 || readiness === 0),
    refused
      ? `first ${seconds(refused.atMs - deletedMs)} after the deletion (${refused.reason}), ${while503.length} looks, the last after ${seconds(lastMs - deletedMs)}`
      : 'never seen',
  );
  log.expect(
    'liveness is 200 to the end',
    after.every(({ liveness }) => liveness === 200),
  );
}

async function untilUnderWay(service: ServiceSide, path: string) {
  const endsAtMs = performance.now() + 90_000;
  while (performance.now() < endsAtMs) {
    const found = service.target.underWay.find((request) => request.path === path);
    if (found && performance.now() - found.atMs < 1000) return found;
    await delay(50);
  }
  throw new Error(`nobody asked for ${path}`);
}
