import { setTimeout as delay } from 'node:timers/promises';
import { type AgentPods, namespace } from './agent-pods.ts';
import { nodeAddress } from './cluster.ts';
import type { ContainerEnds } from './container-ends.ts';
import type { Kubectl } from './kubectl.ts';
import { type Look, look, ProbeWatch } from './probe-watch.ts';
import type { ServiceSide } from './service-side.ts';
import { seconds, type TrialLog } from './trial-log.ts';

/** What the scenes of the trial are played with. */
export interface Stage {
  readonly log: TrialLog;
  readonly kubectl: Kubectl;
  readonly pods: AgentPods;
  readonly ends: ContainerEnds;
  readonly service: ServiceSide;
  /** The objects of the agent, to apply. */
  readonly agentFile: string;
}

/** How long agents are looked at that must not become ready. */
const lookMs = 15_000;
const awayMs = 45_000;
const deployment = 'deployment/picket-agent';

/** Pods get ready when, and only when, the service has answered them. */
export async function startUp({ log, kubectl, pods, service, agentFile }: Stage): Promise<void> {
  log.heading('Agents start while the service is away');
  await service.up();
  const key = await service.makeLocation();
  await service.down();
  const secret = ['secret', 'generic', 'picket-location-key', `--from-literal=api-key=${key}`];
  await kubectl.ask('-n', namespace, 'create', ...secret);
  const created = await kubectl.ask('-n', namespace, 'apply', '-f', agentFile);
  log.note(created.replaceAll('\n', ', '));
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

/** The security context of the manifests, as the kernel has it. */
export async function confinement({ log, kubectl, pods, service }: Stage): Promise<void> {
  log.heading('The security context holds');
  const [pod] = await pods.all();
  if (!pod) throw new Error('no pod');
  const script = `
    const { readFileSync, writeFileSync, existsSync } = require('node:fs');
    const write = (path) => { try { writeFileSync(path, ''); return 'written'; } catch (error) { return error.code; } };
    const status = readFileSync('/proc/1/status', 'latin1');
    const field = (name) => new RegExp('^' + name + ':\\\\s+(.*)$', 'm').exec(status)[1].split(/\\s+/);
    console.log(JSON.stringify({
      uid: field('Uid'), gid: field('Gid'), noNewPrivileges: field('NoNewPrivs')[0], seccomp: field('Seccomp')[0],
      capabilities: ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map((name) => field(name)[0]),
      root: write('/file'), app: write('/app/file'), tmp: write('/tmp/file'), spool: write('/var/spool/picket/file'),
      pings: readFileSync('/proc/sys/net/ipv4/ping_group_range', 'latin1').trim().split(/\\s+/).join(' '),
      hasAccountToken: existsSync('/var/run/secrets/kubernetes.io'),
      hasKeyInEnvironment: Object.keys(process.env).includes('API_KEY'),
    }));`;
  const seen = JSON.parse(
    await kubectl.ask('-n', namespace, 'exec', pod.name, '--', '/usr/bin/node', '-e', script),
  ) as Readonly<Record<string, string | boolean | string[]>>;
  const is = (name: string, wanted: string) => log.expect(`${name} is ${wanted}`, seen[name] === wanted);
  const ids = [...(seen.uid as string[]), ...(seen.gid as string[])];
  log.expect(
    'the process is user and group 10001',
    ids.every((id) => id === '10001'),
    ids.join(' '),
  );
  const capabilities = seen.capabilities as string[];
  log.expect(
    'it has no capability, nor any to be had',
    capabilities.every((set) => /^0+$/.test(set)),
    capabilities.join(' '),
  );
  is('noNewPrivileges', '1');
  log.expect('it is under a seccomp filter', seen.seccomp === '2', String(seen.seccomp));
  log.expect(
    'its root cannot be written',
    seen.root === 'EROFS' && seen.app === 'EROFS',
    `${seen.root}, ${seen.app}`,
  );
  log.expect(
    '/tmp and the spool can',
    seen.tmp === 'written' && seen.spool === 'written',
    `${seen.tmp}, ${seen.spool}`,
  );
  log.expect('it has no token of a service account', seen.hasAccountToken === false);
  log.expect('its key is in a file, not in its environment', seen.hasKeyInEnvironment === false);
  log.expect(
    'the sysctl of the manifest holds',
    seen.pings === '0 2147483647',
    `net.ipv4.ping_group_range = ${seen.pings}`,
  );
  const health = (await (await fetch(`http://${pod.address}:8081/health`)).json()) as {
    readonly checkTypes: readonly string[];
    readonly capabilities: { readonly backends: Readonly<Record<string, string>> };
  };
  const backend = health.capabilities.backends.ICMP ?? 'none';
  log.expect('pings go through datagram sockets', /datagram/.test(backend), backend);
  const results = {
    icmp: await service.tryOnce('icmp', { hostname: nodeAddress, pingCount: 3 }),
    url: await service.tryOnce('url', { url: `${service.target.url}/once` }),
    tcp: await service.tryOnce('tcp', {
      hostname: nodeAddress,
      port: Number(new URL(service.target.url).port),
    }),
  };
  for (const [type, result] of Object.entries(results)) {
    const isGood = result !== undefined && !result.hasFailures && !result.hasErrors;
    log.expect(`a ${type} check passes`, isGood, result ? result.failure?.message : 'no result came');
  }
}

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
  log.expect('the first may go', first?.code === 0, first?.output.slice(0, 200));
  log.expect(
    'the second may not, before there is another',
    second?.code !== 0 && /disruption budget/.test(second?.output ?? ''),
    second?.output.slice(0, 200),
  );
  const end = await ends.until(first?.pod ?? '', 90_000);
  log.expect('the one that goes ends with code 0', end.exitCode === 0, String(end.exitCode));
  await pods.ready(2);
}

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
  log.note(
    `three new pods, the old ones gone, ${seconds(tookMs)} after kubectl rollout restart; never fewer than ${least} were ready`,
  );
  log.expect('there were always three ready agents', least >= 3, String(least));
  const codes = old.map(({ name }) => ends.of(name));
  log.expect(
    'each old agent ended with code 0',
    codes.every((end) => end?.exitCode === 0),
    codes.map((end) => `${end?.exitCode} after ${end ? seconds(end.atMs - startedMs) : '-'}`).join(', '),
  );
  await delay(20_000);
}

/** Whether anything was lost or done twice, in all of the above. */
export async function reckoning({ log, service }: Stage): Promise<void> {
  log.heading('The reckoning');
  const { violations, requests, rows } = await service.judge();
  log.expect('the judge of the fault campaigns finds nothing', violations.length === 0);
  for (const { code, text } of violations.slice(0, 10)) log.note(`${code}: ${text}`);
  const load = service.checks.filter(({ path }) => path.startsWith('/load/') || path === '/slow');
  const ids = new Set(load.map(({ id }) => id));
  const runs = rows.runs.filter(({ checkId }) => ids.has(checkId));
  const results = rows.results.filter(({ checkId }) => ids.has(checkId));
  const asked = load.reduce((sum, { path }) => sum + (requests.get(path) ?? 0), 0);
  const others = runs.filter(({ state }) => state !== 'final');
  // The last one of a check may be cancelled by switching the check off.
  const lost = others.filter(({ state }) => state !== 'cancelled');
  log.expect(
    'every run while pods were deleted and replaced has its result',
    lost.length === 0,
    `${runs.length} runs, ${results.length} results, ${lost.length} without (${lost.map(({ state, reason }) => `${state} ${reason}`).join(', ')}), ${others.length - lost.length} cancelled`,
  );
  log.expect(
    'no result is there twice, none was fenced off',
    new Set(results.map(({ runId }) => runId)).size === results.length && rows.stale.length === 0,
  );
  log.expect(
    'the target was asked once for each of them',
    asked === results.length,
    `${asked} requests for ${results.length} results`,
  );
  const again = runs.filter(({ leaseNumber }) => leaseNumber > 1);
  log.note(`${again.length} of ${runs.length} runs were given back before they began, and leased again`);
  const failed = results.filter(({ hasFailures, hasErrors }) => hasFailures === 1 || hasErrors === 1);
  log.expect('all passed', failed.length === 0, failed[0]?.message ?? '');
}
