/**
 * Entry of the script thread. It owns the sandboxes and follows their events; the scripts themselves run in processes
 * that a supervisor process starts. Artifacts are also scrubbed here, so that neither probes nor the main thread wait
 * for it.
 */

import { createReadStream } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { maxCodeBundleBytes } from '@picket/checks/contract/code-bundle.ts';
import { checkTypes as allTypes, findCheckType } from '@picket/checks/index.ts';
import { modelMissing } from '@picket/checks/model/access.ts';
import type { ModelOutcome } from '@picket/checks/model/client.ts';
import { DaySpending } from '@picket/checks/model/spending.ts';
import { trustAlso } from '@picket/lib/ca-directory.ts';
import { systemClock } from '@picket/lib/clock.ts';
import { toError } from '@picket/lib/errors.ts';
import { collectStartGarbage } from '@picket/lib/process/start-garbage.ts';
import { packageVersion } from '@picket/lib/version.ts';
import { createEgressPolicy } from '@picket/probes/egress/policy.ts';
import { browserVersion } from '@picket/sandbox/browsers/browser-version.ts';
import { browsersDirectoryOf, otherBrowsersState } from '@picket/sandbox/browsers/other-browsers.ts';
import { type OpenScriptHost, openScriptHost } from '@picket/sandbox/host/script-host.ts';
import { mechanismInShort } from '@picket/sandbox/mechanism.ts';
import { installedState } from '@picket/sandbox/runtimes/runtimes.ts';
import { SandboxUnavailable } from '@picket/sandbox/sandbox.ts';
import { BundleMissing, type CodeBundles } from '@picket/sandbox/suites/suite-host.ts';
import { FetchedBundles, fetchBundle } from '../../client/bundle-cache.ts';
import { ServiceConnection } from '../../client/service-connection.ts';
import { RunTails } from '../../live-log/run-tails.ts';
import type { Capabilities, RunOrder, TailPlace } from '../../run/contracts.ts';
import { LagMeter } from '../lag/lag-meter.ts';
import { RunPipeline } from '../run-pipeline.ts';
import type { FromWorker, RunSituation, ToWorker, WorkerStart } from '../threads/worker-protocol.ts';
import { BrowserWatch } from './browser-watch.ts';
import { serveLifecycleScripts } from './lifecycle-script-port.ts';

if (!parentPort) throw new Error('script-worker runs in a worker thread only');
const port = parentPort;
const {
  ownSecrets,
  checkTypes: wanted,
  egress,
  scripts,
  service,
  codeBundle,
  model,
  kerberos,
  isBrowserTried,
} = workerData as WorkerStart;
trustAlso(scripts?.caCertificates ?? []);
/** Size limit of cached code bundles together, in bytes. */
const maxKeptBundleBytes = 2_000_000_000;
const types = allTypes.filter(({ name, lane }) => lane === 'script' && wanted.includes(name));
/** Model usage of all runs today: it outlives a reopening of the sandboxes. */
const day = new DaySpending(() => systemClock.wallMs());
const running = new Map<string, AbortController>();
const tails = new RunTails();
let isClosing = false;

/** Poll interval for changes of the installed runtimes, in milliseconds. */
const lookMs = 5000;
let lookedAt = await state();
let opened = open();
let pipeline = opened.then(pipelineOf);

port.on('message', (message: ToWorker) => {
  if (message.type === 'run') {
    for (const order of message.orders) void run(order, message.situation);
  } else if (message.type === 'abort') {
    for (const runId of message.runIds) {
      running.get(runId)?.abort(new DOMException('The run was stopped', 'AbortError'));
    }
  } else if (message.type === 'read-logs') {
    void readLogs(message.places);
  } else if (message.type === 'lifecycle-scripts') {
    const { port: line } = message;
    void opened.then(({ host, unavailable }) => serveLifecycleScripts(line, host, unavailable ?? ''));
  } else if (message.type === 'close') {
    void close();
  }
});

/** A single run finds out by itself whether the browser starts. */
const browserWatch =
  isBrowserTried && types.some(({ needsBrowser }) => needsBrowser) ? watchBrowser() : undefined;
await browserWatch?.tryNow();
send({ type: 'ready', capabilities: await capabilities() });
await sendSuitePackages();
collectStartGarbage();
void watchRuntimes();

function watchBrowser(): BrowserWatch {
  return new BrowserWatch({
    clock: systemClock,
    tryBrowser: async () => (await (await opened).host?.tryBrowser()) ?? true,
    onChanged: async () => send({ type: 'changed', capabilities: await capabilities() }),
  });
}

function pipelineOf({ host }: Awaited<ReturnType<typeof open>>): RunPipeline {
  return new RunPipeline({
    clock: systemClock,
    lagMeter: new LagMeter(systemClock),
    ownSecrets,
    egress: createEgressPolicy(egress),
    tails,
    hosts: { scripts: host, model: model && { access: model, day, onOutcome: reportOutcome }, kerberos },
  });
}

function reportOutcome(outcome: ModelOutcome): void {
  send({ type: 'model-asked', outcome });
}

async function state(): Promise<string> {
  if (!scripts) return '';
  const runtimes = await installedState(scripts.runtimesDirectory);
  return `${runtimes}\n${await otherBrowsersState(browsersDirectoryOf(scripts))}`;
}

/** A runtime or browser may be installed, or become complete, after the agent has started. */
async function watchRuntimes(): Promise<void> {
  for (let seen = lookedAt; !isClosing; ) {
    await delay(lookMs, undefined, { ref: false });
    const last = seen;
    seen = await state();
    // A runtime that is still changing is being installed.
    if (seen === lookedAt || seen !== last) continue;
    lookedAt = seen;
    const { host } = await opened;
    try {
      await host?.lookAgain();
    } catch (thrown) {
      if (!(thrown instanceof SandboxUnavailable)) throw thrown;
      continue; // runs that need a missing file will report it
    }
    if (!host) {
      opened = open();
      pipeline = opened.then(pipelineOf);
    }
    await browserWatch?.tryNow();
    send({ type: 'changed', capabilities: await capabilities() });
  }
}

async function open(): Promise<{ host?: OpenScriptHost; unavailable?: string }> {
  if (!scripts) throw new Error('the thread for scripts was started without its settings');
  try {
    return {
      host: await openScriptHost(
        { ...scripts, egress },
        (service && openBundles) ?? (codeBundle && openLocalBundle),
      ),
    };
  } catch (thrown) {
    if (thrown instanceof SandboxUnavailable) return { unavailable: thrown.message };
    throw thrown;
  }
}

/** The only bundle of a run without a service. */
async function openLocalBundle(): Promise<CodeBundles> {
  return {
    async open(key) {
      if (key !== codeBundle?.key) throw new BundleMissing(key);
      return createReadStream(codeBundle.path);
    },
  };
}

/** The thread fetches bundles itself: the main thread does not need their bytes. */
async function openBundles(directory: string): Promise<FetchedBundles> {
  if (!service) throw new Error('the thread for scripts does not know the service');
  // A separate connection: bundles are large, and no claim should wait behind one.
  const connection = new ServiceConnection(service, {
    version: packageVersion(),
    maxAnswerBytes: maxCodeBundleBytes,
  });
  const fetch = (key: string, signal: AbortSignal) => fetchBundle(connection, key, signal);
  return await FetchedBundles.open({ directory, maxBytes: maxKeptBundleBytes, fetch });
}

/** Offers each type whose required resources the host has. */
async function capabilities(): Promise<Capabilities> {
  const { host, unavailable } = await opened;
  const loaded: string[] = [];
  const failed: Capabilities['failed'][number][] = [];
  for (const type of types) {
    const missing = unavailable ?? (host && missingCapability(type, host));
    if (missing !== undefined) {
      const isBrowserBroken = missing === brokenBrowserOf(host);
      failed.push({ name: type.name, reason: missing, ...(isBrowserBroken && { isBrowserBroken }) });
      continue;
    }
    try {
      await (await pipeline).load(type);
      loaded.push(type.name);
    } catch (thrown) {
      failed.push({ name: type.name, reason: toError(thrown).message });
    }
  }
  const facts = host && { ...host.facts, partProblems: host.problems };
  const version =
    host && 'executablePath' in host.browser ? await browserVersion(host.browser.executablePath) : undefined;
  const backendOf = ({ name, needsBrowser }: CheckType, own: NonNullable<typeof facts>) =>
    [name, [mechanismInShort(own), ...(needsBrowser && version ? [version] : [])].join(', ')] as const;
  const offered = types.filter(({ name }) => loaded.includes(name));
  const backends = Object.fromEntries(facts ? offered.map((type) => backendOf(type, facts)) : []);
  const browsers = (host?.otherBrowsers ?? []).map(({ name, version: own }) => ({ name, version: own }));
  return { loaded, backends, failed, runtimes: host?.runtimes.ids ?? [], browsers, sandbox: facts };
}

/** Why the installed browser does not start. */
function brokenBrowserOf(host: OpenScriptHost | undefined): string | undefined {
  const browser = host?.browser;
  return browser && 'missing' in browser && browser.isBroken ? browser.missing : undefined;
}

function missingCapability(type: CheckType, { browser, suites }: OpenScriptHost): string | undefined {
  if (type.needsModel && !model) return modelMissing;
  if (type.needsBrowser && 'missing' in browser) return browser.missing;
  return type.needsSuites && 'missing' in suites ? suites.missing : undefined;
}

async function run(order: RunOrder, situation: RunSituation): Promise<void> {
  const stop = new AbortController();
  running.set(order.runId, stop);
  const finished = await (await pipeline).run(order, situation, stop.signal);
  running.delete(order.runId);
  await sendSuitePackages(order.checkType);
  if (finished.facts.failureCode === 'BROWSER_MISSING') browserWatch?.runFailed();
  send({ type: 'finished', runs: [finished] });
}

async function readLogs(places: readonly TailPlace[]): Promise<void> {
  const runs = await tails.read(places);
  if (runs.length > 0) send({ type: 'live-log', runs });
}

async function sendSuitePackages(checkType?: string): Promise<void> {
  if (checkType !== undefined && !findCheckType(checkType)?.needsSuites) return;
  const { host } = await opened;
  if (host && 'dependencies' in host.suites) {
    send({ type: 'suite-packages', usage: host.suites.dependencies.usage });
  }
}

async function close(): Promise<void> {
  if (isClosing) return;
  isClosing = true;
  browserWatch?.close();
  for (const stop of running.values()) stop.abort(new DOMException('The agent stops', 'AbortError'));
  const { host } = await opened;
  await host?.close();
  process.exit(0); // ends this thread
}

function send(message: FromWorker): void {
  port.postMessage(message);
}
