import { setTimeout as delay } from 'node:timers/promises';
import { ProbeWatch } from '../probe-watch.ts';
import { seconds } from '../trial-log.ts';
import type { Stage } from './stage.ts';

const awayMs = 45_000;

/** The service goes away and comes back: readiness follows, nothing is started again. */
export async function serviceAway({ log, pods, service }: Stage): Promise<void> {
  log.heading('The service goes away and comes back');
  await service.watchPage('/steady', { holdMs: 0, intervalMs: 10_000 });
  const before = await pods.ready(2);
  const watches = before.pods.map(({ address }) => new ProbeWatch(address));
  const downMs = performance.now();
  await service.down();
  log.note(`the service was stopped (SIGTERM, ${seconds(performance.now() - downMs)})`);
  await pods.until('no pod is ready', (all) => all.every(({ isReady }) => !isReady));
  log.note(`Kubernetes has no pod as ready ${seconds(performance.now() - downMs)} after the SIGTERM`);
  await delay(awayMs);
  const stillAway = await pods.all();
  log.expect(
    `they are still not ready ${seconds(awayMs)} later`,
    stillAway.every(({ isReady }) => !isReady),
  );
  await service.up();
  const upMs = performance.now();
  log.note(`the service is up again, ${seconds(upMs - downMs)} after the SIGTERM`);
  const after = await pods.ready(2);
  log.note(`Kubernetes has both pods as ready ${seconds(performance.now() - upMs)} later`);
  for (const [index, watch] of watches.entries()) {
    const looks = await watch.end();
    const lost = looks.find(({ readiness }) => readiness === 503);
    const back = looks.find(({ readiness, atMs }) => readiness === 200 && atMs > upMs);
    const between = looks.filter(({ atMs }) => lost && atMs >= lost.atMs && atMs < upMs);
    log.expect(
      `readiness of pod ${index + 1} is 503 from then on, until the service is back`,
      lost !== undefined && back !== undefined && between.every(({ readiness }) => readiness === 503),
      lost && back
        ? `503 after ${seconds(lost.atMs - downMs)} (${lost.reason}), 200 again ${seconds(back.atMs - upMs)} after the service is up`
        : 'never',
    );
    log.expect(
      'liveness is 200 all the time',
      looks.every(({ liveness }) => liveness === 200),
      `${looks.length} looks`,
    );
  }
  log.expect(
    'the same pods, and no container was started again',
    after.pods.every(({ restarts, name }) => restarts === 0 && before.pods.some((pod) => pod.name === name)),
  );
}
