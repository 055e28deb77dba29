import { setTimeout as delay } from 'node:timers/promises';
import { namespace } from '../agent-pods.ts';
import { seconds } from '../trial-log.ts';
import type { Stage } from './stage.ts';

const deployment = 'deployment/picket-agent';

/** All pods are replaced while three agents are busy. */
export async function rollout({ log, kubectl, pods, ends, service }: Stage): Promise<void> {
  log.heading('A rollout of three agents under load');
  await kubectl.ask('-n', namespace, 'scale', deployment, '--replicas=3');
  const { pods: old } = await pods.ready(3);
  const count = 40;
  for (let number = 0; number < count; number += 1)
    await service.watchPage(`/load/${number}`, { holdMs: (number % 5) * 1000, intervalMs: 20_000 });
  log.note(`${count} checks every 20 s of pages that take 0 to 4 s, with three agents`);
  await delay(20_000);
  let least = Number.MAX_SAFE_INTEGER;
  const startedMs = performance.now();
  await kubectl.ask('-n', namespace, 'rollout', 'restart', deployment);
  const isNew = ({ name }: { readonly name: string }) => old.every((pod) => pod.name !== name);
  const { tookMs } = await pods.until(
    'three new pods are ready and the old ones gone',
    (now) => {
      least = Math.min(least, now.filter(({ isReady, isLeaving }) => isReady && !isLeaving).length);
      return now.length === 3 && now.every((pod) => isNew(pod) && pod.isReady);
    },
    300_000,
  );
  log.note(`three new pods, the old ones gone, ${seconds(tookMs)} after kubectl rollout restart`);
  log.expect('there were always three ready agents', least >= 3, `never fewer than ${least}`);
  const codes = old.map(({ name }) => ends.of(name));
  log.expect(
    'each old agent ended with code 0',
    codes.every((end) => end?.exitCode === 0),
    codes.map((end) => `${end?.exitCode} after ${end ? seconds(end.atMs - startedMs) : '-'}`).join(', '),
  );
  await delay(20_000);
}
