/** The trial itself, in namespaces that ./main.ts made: `trial.ts CACHE STATE CONTROL-GROUP`. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { toError } from '../../src/lib/errors.ts';
import { Releasers } from '../../src/lib/releasers.ts';
import { AgentPods, namespace } from './agent-pods.ts';
import { Cluster, nodeAddress } from './cluster.ts';
import { ContainerEnds } from './container-ends.ts';
import type { Kubectl } from './kubectl.ts';
import { kubernetesVersion, provideKubernetes } from './kubernetes-programs.ts';
import {
  copyManifests,
  for120,
  type KubernetesObject,
  kustomized,
  listOf,
  writeOverlay,
} from './manifests.ts';
import { confinement } from './scenes/confinement.ts';
import { deletion } from './scenes/deletion.ts';
import { eviction } from './scenes/eviction.ts';
import { hang } from './scenes/hang.ts';
import { reckoning } from './scenes/reckoning.ts';
import { rollout } from './scenes/rollout.ts';
import { serviceAway } from './scenes/service-away.ts';
import type { Stage } from './scenes/stage.ts';
import { startUp } from './scenes/start-up.ts';
import { ServiceSide } from './service-side.ts';
import { rejectOn, stopSignal } from './stage-process.ts';
import { seconds, TrialLog } from './trial-log.ts';

const [cache = '', state = '', controlGroup = ''] = process.argv.slice(2);
const signal = stopSignal();
const releasers = new Releasers();
await mkdir(state, { recursive: true });
const log = new TrialLog(join(cache, 'trial.log'));
process.exit(await main());

async function main(): Promise<number> {
  const startedMs = performance.now();
  try {
    await Promise.race([trial(), rejectOn(signal)]);
  } catch (thrown) {
    if (signal.aborted) return 130;
    log.expect('the trial comes to its end', false, toError(thrown).message);
  } finally {
    await releasers.release();
  }
  log.heading(
    `${log.passedCount} as they should be, ${log.failedCount} not, in ${seconds(performance.now() - startedMs)}`,
  );
  return log.failedCount === 0 ? 0 : 1;
}

async function trial(): Promise<void> {
  log.heading(`A cluster of Kubernetes ${kubernetesVersion}, one node, in a network of its own`);
  const startedMs = performance.now();
  const cluster = await Cluster.start({
    cacheFolder: cache,
    programs: await provideKubernetes(cache),
    folder: state,
    controlGroup,
  });
  releasers.push('cluster', () => cluster[Symbol.asyncDispose]());
  const { kubectl } = cluster;
  log.note(`the node is ready after ${seconds(performance.now() - startedMs)}`);
  for (const line of (await kubectl.ask('get', 'nodes', '-o', 'wide')).split('\n')) log.note(line);
  const service = await ServiceSide.start(state, nodeAddress);
  releasers.push('service', () => service[Symbol.asyncDispose]());
  const ends = new ContainerEnds(cluster.docker);
  releasers.push('events', () => ends[Symbol.asyncDispose]());
  const agentFile = await acceptance(kubectl, service.url);
  const { docker } = cluster;
  const stage: Stage = { log, kubectl, pods: new AgentPods(kubectl), ends, service, docker, agentFile };
  const scenes = [startUp, confinement, serviceAway, deletion, eviction, rollout, reckoning, hang];
  for (const scene of scenes) await scene(stage);
}

/**
 * A live API server takes our manifests, and would not take everything.
 *
 * @returns the agent's, to apply.
 */
async function acceptance(kubectl: Kubectl, serviceUrl: string): Promise<string> {
  log.heading('The API server takes the manifests of deploy/kubernetes');
  await kubectl.ask('create', 'namespace', namespace);
  await kubectl.ask('label', 'namespace', namespace, 'pod-security.kubernetes.io/enforce=restricted');
  const folder = join(state, 'manifests');
  await copyManifests(folder);
  await writeOverlay(folder, 'trial', 'agent-uptime', { SERVICE_URL: serviceUrl });
  const dryRun = ['-n', namespace, 'apply', '--dry-run=server', '-f'];
  const files = new Map<string, KubernetesObject[]>();
  for (const name of ['agent', 'service', 'trial']) {
    const ours = await kustomized(kubectl, join(folder, name));
    const { objects, changes } = for120(ours);
    files.set(name, objects);
    if (name !== 'trial') {
      const { output } = await kubectl.try(...dryRun, await kubectl.file(listOf(ours)));
      log.note(`${name} as it is: ${/no matches for kind .*/.exec(output)?.[0] ?? output.trim()}`);
      for (const change of changes) log.note(`so: ${change}`);
    }
    const { code, output } = await kubectl.try(...dryRun, await kubectl.file(listOf(objects)));
    const what = name === 'trial' ? 'agent-uptime, with the address of the service' : name;
    log.expect(`kubectl apply --dry-run=server takes ${what}`, code === 0, shortened(output));
  }
  log.note('autoscaling is left out: it needs the definitions of KEDA');
  const agent = files.get('trial') ?? [];
  for (const [right, wrong] of [
    ['readinessProbe', 'readinesProbe'],
    ['runAsNonRoot', 'runAsNonRot'],
  ] as const) {
    const text = listOf(agent).replace(`"${right}"`, `"${wrong}"`);
    const { code, output } = await kubectl.try(...dryRun, await kubectl.file(text));
    const message = /unknown field "[^"]+" in [^;,\]]+/.exec(output)?.[0] ?? output.trim().slice(0, 300);
    log.expect(`it does not take ${wrong}`, code !== 0 && output.includes(wrong), message);
  }
  return await kubectl.file(listOf(agent));
}

/** What kubectl tells, without what it says of each object. */
function shortened(output: string): string {
  return output.trim().replaceAll(' created (server dry run)', '').replaceAll('\n', ', ');
}
