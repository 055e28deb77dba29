import { readFile } from 'node:fs/promises';
import { mustRun } from '../../images/command.ts';
import { namespace } from '../agent-pods.ts';
import { seconds } from '../trial-log.ts';
import type { Stage } from './stage.ts';

/** Six probes that fail, ten seconds apart, the grace of a pod, and the start of another container. */
const restartMs = 240_000;

/** An agent hangs (SIGSTOP): it is started again in the same pod, and nothing else is. */
export async function hang({ log, kubectl, pods, ends, service, docker }: Stage): Promise<void> {
  log.heading('An agent hangs');
  await kubectl.ask('-n', namespace, 'scale', 'deployment/picket-agent', '--replicas=2');
  const { pods: before } = await pods.ready(2);
  const [hung] = before;
  if (!hung) throw new Error('no pod');
  await service.watchPage('/meanwhile', { holdMs: 0, intervalMs: 20_000 });
  const environment = { DOCKER_HOST: docker.host };
  const labels = { pod: hung.name, container: 'agent' };
  const filters = Object.entries(labels).flatMap(([what, name]) => [
    '--filter',
    `label=io.kubernetes.${what}.name=${name}`,
  ]);
  const id = await mustRun(docker.client, ['ps', '--quiet', ...filters], { environment });
  const init = await mustRun(docker.client, ['inspect', '--format', '{{.State.Pid}}', id], { environment });
  const [agent] = (await readFile(`/proc/${init}/task/${init}/children`, 'utf8')).split(' ');
  const stoppedMs = performance.now();
  process.kill(Number(agent), 'SIGSTOP');
  log.note(`the agent of ${hung.name} was stopped with SIGSTOP`);
  const now = () => seconds(performance.now() - stoppedMs);
  const of = (all: readonly { readonly name: string }[]) => all.find(({ name }) => name === hung.name);
  await pods.until('its pod is not ready', (all) => all.some((pod) => pod === of(all) && !pod.isReady));
  log.note(`its pod is not ready ${now()} later`);
  const { pods: after } = await pods.until(
    'its container was started again, and is ready',
    (all) => all.some((pod) => pod === of(all) && pod.restarts > 0 && pod.isReady),
    restartMs,
  );
  log.expect('it is started again and gets ready, in the same pod', true, `${now()} after SIGSTOP`);
  const end = ends.of(hung.name);
  // It cannot end by itself, so the kubelet ends it when the grace is over.
  log.expect(
    'the hung container was killed',
    end?.exitCode === 137,
    `${end?.exitCode} ${end ? seconds(end.atMs - stoppedMs) : '-'} after SIGSTOP: a minute of probes, a minute of grace`,
  );
  log.expect(
    'the other agent was left alone',
    after.every(({ name, restarts }) => name === hung.name || restarts === 0),
  );
  const { violations, rows } = await service.judge();
  for (const { code, text } of violations.slice(0, 10)) log.note(`${code}: ${text}`);
  log.expect('the judge still finds nothing', violations.length === 0);
  const check = service.checks.find(({ path }) => path === '/meanwhile');
  const runs = rows.runs.filter(({ checkId }) => checkId === check?.id);
  const states = Map.groupBy(runs, ({ state, leaseNumber }) => `${state} under lease ${leaseNumber}`);
  log.note(`runs meanwhile: ${[...states].map(([state, those]) => `${those.length} ${state}`).join(', ')}`);
}
