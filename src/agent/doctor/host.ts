import { readFile, statfs } from 'node:fs/promises';
import { createServer } from 'node:http';
import { errorCodeOf } from '@picket/lib/errors.ts';
import { memoryLimitBytes } from '@picket/sandbox/host-memory.ts';
import { hasNamespaces } from '@picket/sandbox/mechanism.ts';
import { sizeText } from './disk.ts';
import type { Examination } from './examination.ts';
import { ok, problem, skipped, warning } from './examination.ts';
import { chosenTypes, whyNoScripts } from './offered-types.ts';
import { openedScripts } from './scripts.ts';

/** Memory of the agent process itself, with its threads; in a container also of the doctor that runs next to it. */
export const ownBytes = 300 * 1024 ** 2;

/** Compares the memory limit of the control group with the number of scripts that may run concurrently. */
export const memory: Examination = {
  name: 'memory',
  async examine({ settings }) {
    const limitBytes = memoryLimitBytes();
    const types = chosenTypes(settings).filter(({ lane }) => lane === 'script');
    const needOf = (wanted: typeof types) => Math.max(0, ...wanted.map(({ memoryBytes = 0 }) => memoryBytes));
    // Suites wait for room for one: they need not fit as often as other scripts.
    const runMemoryBytes = needOf(types.filter(({ needsSuites }) => !needsSuites));
    const suiteBytes = ownBytes + needOf(types);
    const scriptCount = (await whyNoScripts(settings)) === undefined ? settings.laneSizes.script : 0;
    const neededBytes = ownBytes + scriptCount * runMemoryBytes;
    const scripts = scriptCount === 0 ? 'probe checks' : `JOB_CONCURRENCY=${scriptCount}`;
    const detail = `${sizeText(limitBytes)} for ${scripts}, which need ${sizeText(neededBytes)}`;
    // A separate finding, because later examinations would be killed together with this process.
    if (limitBytes < ownBytes) {
      const fix = `Raise the memory limit to ${sizeText(neededBytes)}.`;
      return problem(`${sizeText(limitBytes)}: less than the agent itself needs`, fix, 'agent');
    }
    if (limitBytes >= neededBytes) {
      if (scriptCount === 0 || limitBytes >= suiteBytes) return ok(detail);
      const fix = `Raise the memory limit to ${sizeText(suiteBytes)}, or leave them out of CHECK_TYPES.`;
      return warning(`${detail}: too little for Playwright suites, so the agent does not accept them`, fix);
    }
    const fewer = Math.floor((limitBytes - ownBytes) / runMemoryBytes);
    const lower = scriptCount > 1 && fewer >= 1 ? `, or set JOB_CONCURRENCY to ${fewer}` : '';
    return problem(detail, `Raise the memory limit to ${sizeText(neededBytes)}${lower}.`);
  },
};

const wantedSharedBytes = 256e6;
/** Docker's default; below it browsers fail even with small pages. */
const minSharedBytes = 60e6;

/** /dev/shm, where the processes of a browser share images. */
export const sharedMemory: Examination = {
  name: 'shared-memory',
  needs: ['memory agent', 'sandbox', 'browser'],
  async examine(patient) {
    const mechanism = (await openedScripts(patient)).capabilities.sandbox?.mechanism;
    if (mechanism && hasNamespaces(mechanism)) return ok('every script has a /dev/shm of its own (256 MB)');
    const fix =
      'Make /dev/shm larger: docker run --shm-size=256m, or in Kubernetes an emptyDir with medium: Memory there.';
    try {
      const { blocks, bsize } = await statfs('/dev/shm');
      const sizeBytes = blocks * bsize;
      const detail = `/dev/shm has ${sizeText(sizeBytes)}`;
      if (sizeBytes < minSharedBytes) return problem(detail, fix);
      return sizeBytes < wantedSharedBytes ? warning(`${detail}: enough for small pages`, fix) : ok(detail);
    } catch (thrown) {
      if (errorCodeOf(thrown) === 'ENOENT') return problem('there is no /dev/shm', fix);
      return skipped(`/dev/shm cannot be examined (${errorCodeOf(thrown)})`);
    }
  },
};

/** The port of the agent's health endpoints. */
export const healthPort: Examination = {
  name: 'health-port',
  async examine({ settings: { healthPort: port }, signal }) {
    const code = await tryToListen(port);
    if (code === undefined) return ok(port === 0 ? 'any free port' : `port ${port} is free`);
    if (code !== 'EADDRINUSE') {
      const fix = 'Set AGENT_HEALTH_PORT to a port from 1024 on, or to 0 for any.';
      return problem(`the agent cannot listen on port ${port} (${code})`, fix);
    }
    if (await isAgent(port, signal)) return ok(`port ${port}: an agent runs here already`);
    const fix = 'Set AGENT_HEALTH_PORT to a free port, or to 0 for any.';
    return problem(`port ${port} is taken by another program: the agent would not start`, fix);
  },
};

async function tryToListen(port: number): Promise<string | undefined> {
  const server = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, resolve);
    });
    return undefined;
  } catch (thrown) {
    return errorCodeOf(thrown) ?? String(thrown);
  } finally {
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  }
}

/** Whether the program that listens there responds like an agent. */
async function isAgent(port: number, signal: AbortSignal): Promise<boolean> {
  try {
    const stop = AbortSignal.any([signal, AbortSignal.timeout(2_000)]);
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`, { signal: stop });
    return (await answer.text()).includes('picket_agent_');
  } catch {
    return false; // It does not speak HTTP.
  }
}

const fewDescriptors = 256;
const manyDescriptors = 1024;

/** Limit of open files and sockets. */
export const descriptors: Examination = {
  name: 'descriptors',
  async examine() {
    const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '');
    const limit = Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.NaN);
    if (Number.isNaN(limit)) return skipped('the limit of open files is unknown on this system');
    const detail = `${limit} open files and sockets at most`;
    const fix = `Raise the limit to ${manyDescriptors} (ulimit -n; systemd: LimitNOFILE; Docker: --ulimit nofile=${manyDescriptors}).`;
    if (limit < fewDescriptors) return problem(`${detail}: too few for concurrent checks`, fix);
    return limit < manyDescriptors ? warning(detail, fix) : ok(detail);
  },
};
