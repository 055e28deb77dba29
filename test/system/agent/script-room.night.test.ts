import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readRuntimes } from '../../../src/sandbox/runtimes/runtimes.ts';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { Stage } from '../../helpers/agent/stage.ts';
import { runtimesDirectory } from '../../helpers/scripts/script-stage.ts';
import { MemoryBundles, packFiles } from '../../helpers/scripts/suite-bundle.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';

const megabyte = 1024 ** 2;

/** Creates a control group (version 1) with that much memory; undefined if that is not possible. */
function memoryGroup(megabytes: number) {
  const directory = join('/sys/fs/cgroup/memory', `picket-test-${process.pid}`);
  const setLimit = (limit: number) =>
    writeFileSync(join(directory, 'memory.limit_in_bytes'), String(limit * megabyte));
  try {
    mkdirSync(directory);
    setLimit(megabytes);
  } catch {
    return undefined;
  }
  return { door: join(directory, 'cgroup.procs'), setLimit, remove: () => rmdirSync(directory) };
}

it('a suite is not leased while the host has too little memory for it', {
  timeout: 100_000,
}, async (context) => {
  const runtimes = await readRuntimes(runtimesDirectory);
  const [id] = runtimes.ids;
  const runtime = id === undefined ? undefined : runtimes.find(id);
  if (!runtime) return context.skip('no runtime is installed: npm run runtimes:install');
  const group = memoryGroup(1400);
  if (!group) return context.skip('no control group for memory can be made here');
  const folder = temporaryFolder();
  const stage = await Stage.open();
  try {
    const agent = stage.startAgent(
      {
        CHECK_TYPES: 'URL,MULTI_STEP,PLAYWRIGHT',
        RUNTIMES_DIR: runtimesDirectory,
        SCRIPTS_DIR: folder.path,
        ALLOW_UNISOLATED_SCRIPTS: 'true',
      },
      [],
      ['/bin/sh', '-c', `echo $$ > ${group.door}; exec "$@"`, 'join'],
    );
    await agent.logged('script sandbox ready', 60_000);
    const claims = () => stage.service.callsOf('claim').map(({ body }) => body);
    const offers = () =>
      claims().findLast(({ checkTypes }) => (checkTypes as string[]).includes('PLAYWRIGHT'));
    const full = await stage.service.waitFor('a claim that tells of it', offers);
    expect(full).toMatchObject({ freeSlots: { script: 1 }, fullCheckTypes: ['PLAYWRIGHT'] });

    const bytes = await packFiles({
      'a.spec.ts': "import { test } from '@playwright/test'; test('a', () => {});",
    });
    const codeBundlePath = new MemoryBundles().add(bytes);
    stage.service.codeBundles.set(codeBundlePath, bytes);
    const installCommand = `ln -s '${runtime.modulesDirectory}' node_modules`;
    const spec = { codeBundlePath, installCommand, browsers: [] };
    const suite = leasedRun('', {
      check: { id: crypto.randomUUID(), name: 'suite', checkType: 'PLAYWRIGHT', spec },
    });
    const script = "require('@playwright/test').test('a', () => {});";
    const small = leasedRun('', {
      check: { id: crypto.randomUUID(), name: 'small', checkType: 'MULTI_STEP', spec: { script } },
    });
    stage.service.enqueue(suite, small);
    await stage.service.waitFor('the small one', () => stage.service.resultOf(small.runId));
    expect(stage.service.leases.has(suite.runId)).toBe(false);

    // No run ends here that would make the agent check again.
    group.setLimit(6000);
    const result = await stage.service.waitFor(
      'the suite',
      () => stage.service.resultOf(suite.runId),
      60_000,
    );
    expect(result.failure).toBeNull();
  } finally {
    await stage[Symbol.asyncDispose]();
    await stage.service.waitFor('the group is empty', () => {
      try {
        group.remove();
        return true;
      } catch {
        return false;
      }
    });
    folder.remove();
  }
});
