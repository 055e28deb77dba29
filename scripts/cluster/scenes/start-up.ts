import { setTimeout as delay } from 'node:timers/promises';
import { namespace } from '../agent-pods.ts';
import { look } from '../probe-watch.ts';
import { seconds } from '../trial-log.ts';
import type { Stage } from './stage.ts';

/** How long agents are looked at that must not become ready. */
const lookMs = 15_000;

/** Pods get ready when, and only when, the service has answered them. */
export async function startUp({ log, kubectl, pods, service, agentFile }: Stage): Promise<void> {
  log.heading('Agents start while the service is away');
  await service.up();
  const key = await service.makeLocation();
  await service.down();
  const secret = ['secret', 'generic', 'picket-location-key', `--from-literal=api-key=${key}`];
  await kubectl.ask('-n', namespace, 'create', ...secret);
  const created = await kubectl.ask('-n', namespace, 'apply', '-f', agentFile);
  log.note(`kubectl apply: ${created.replaceAll(' created', '').replaceAll('\n', ', ')}`);
  const started = await pods.until(
    'two pods have started',
    (all) => all.length === 2 && all.every((pod) => pod.isStarted),
  );
  log.note(`two pods have started after ${seconds(started.tookMs)}`);
  await delay(lookMs);
  const waiting = await pods.all();
  log.expect(
    `no pod is ready for ${seconds(lookMs)} without the service`,
    waiting.every((pod) => !pod.isReady),
  );
  log.expect(
    'no container was started again',
    waiting.every((pod) => pod.restarts === 0),
  );
  for (const { address } of waiting) {
    const { readiness, liveness, reason } = await look(address);
    log.expect('readiness is 503, liveness 200', readiness === 503 && liveness === 200, reason);
  }
  await service.up();
  const upMs = performance.now();
  log.note('the service is up');
  const { pods: ready } = await pods.ready(2);
  log.note(`two pods are ready ${seconds(performance.now() - upMs)} later`);
  for (const { name, readySince } of ready) {
    const connected = (await pods.logs(name)).find(({ msg }) => msg === 'connected to the service');
    const connectedAt = String(connected?.time ?? 'never');
    // Kubernetes notes full seconds.
    const isAfter = Date.parse(readySince) + 1000 > Date.parse(connectedAt);
    log.expect('a pod is Ready after its agent is connected', isAfter, `${connectedAt}, Ready ${readySince}`);
  }
  const known = await service.countAgents();
  log.expect('the service has both agents at the location', known === 2, String(known));
}
