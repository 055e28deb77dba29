import { statfs } from 'node:fs/promises';
import { errorCodeOf } from '../../lib/errors.ts';
import { memoryLimitBytes } from '../../sandbox/host-memory.ts';
import { hasNamespaces } from '../../sandbox/mechanism.ts';
import { sizeText } from './disk.ts';
import type { Examination } from './examination.ts';
import { ok, problem, skipped, warning } from './finding.ts';
import { chosenTypes, whyNoScripts } from './offered-types.ts';
import { openedScripts } from './scripts.ts';

/** The agent itself, with its threads. */
const ownBytes = 300 * 1024 ** 2;

/** Memory against the number of scripts that may run at the same time, by the limits of control groups. */
export const memory: Examination = {
  name: 'memory',
  async examine({ settings }) {
    const limitBytes = memoryLimitBytes();
    const types = chosenTypes(settings).filter(({ lane }) => lane === 'script');
    const needOf = (wanted: typeof types) => Math.max(0, ...wanted.map(({ memoryBytes = 0 }) => memoryBytes));
    // Suites wait until there is room for one: they need not fit as often as other scripts.
    const runMemoryBytes = needOf(types.filter(({ needsSuites }) => !needsSuites));
    const suiteBytes = ownBytes + needOf(types);
    const scriptCount = (await whyNoScripts(settings)) === undefined ? settings.laneSizes.script : 0;
    const neededBytes = ownBytes + scriptCount * runMemoryBytes;
    const scripts = scriptCount === 0 ? 'probe checks' : `JOB_CONCURRENCY=${scriptCount}`;
    const detail = `${sizeText(limitBytes)} for ${scripts}, which need ${sizeText(neededBytes)}`;
    if (limitBytes >= neededBytes) {
      if (scriptCount === 0 || limitBytes >= suiteBytes) return ok(detail);
      const fix = `Raise the memory limit to ${sizeText(suiteBytes)}, or leave them out of CHECK_TYPES.`;
      return warning(`${detail}: too little for Playwright suites, which are then not taken`, fix);
    }
    const fewer = Math.floor((limitBytes - ownBytes) / runMemoryBytes);
    const lower = scriptCount > 1 && fewer >= 1 ? `, or set JOB_CONCURRENCY to ${fewer}` : '';
    return problem(detail, `Raise the memory limit to ${sizeText(neededBytes)}${lower}.`);
  },
};

const wantedSharedBytes = 256e6;
/** What Docker gives by default; below it browsers fail even with small pages. */
const minSharedBytes = 60e6;

/** /dev/shm, where browsers share pictures between their processes. */
export const sharedMemory: Examination = {
  name: 'shared-memory',
  needs: ['sandbox', 'browser'],
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
      return skipped(`/dev/shm cannot be looked at (${errorCodeOf(thrown)})`);
    }
  },
};
