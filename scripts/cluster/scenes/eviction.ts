import { setTimeout as delay } from 'node:timers/promises';
import { namespace } from '../agent-pods.ts';
import type { Stage } from './stage.ts';

/** Evictions, as `kubectl drain` of a node asks for them: the budget lets one pod go at a time. */
export async function eviction({ log, kubectl, pods, ends }: Stage): Promise<void> {
  log.heading('Two pods are evicted at once, as when a node is drained');
  const { pods: before } = await pods.ready(2);
  await delay(2000);
  const answers: { readonly pod: string; readonly code: number | null; readonly output: string }[] = [];
  for (const { name } of before) {
    const file = await kubectl.file(
      JSON.stringify({ apiVersion: 'policy/v1beta1', kind: 'Eviction', metadata: { name, namespace } }),
    );
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/eviction`;
    const { code, output } = await kubectl.try('create', '--raw', path, '-f', file);
    answers.push({ pod: name, code, output: output.trim() });
  }
  const [first, second] = answers;
  log.expect('the first may go', first?.code === 0, /"status":"\w+"/.exec(first?.output ?? '')?.[0]);
  log.expect(
    'the second may not, before there is another',
    second?.code !== 0 && /disruption budget/.test(second?.output ?? ''),
    second?.output.slice(0, 200),
  );
  const end = await ends.until(first?.pod ?? '', 90_000);
  log.expect('the one that goes ends with code 0', end.exitCode === 0, String(end.exitCode));
  await pods.ready(2);
}
