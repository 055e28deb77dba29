import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readRuntimes } from '../../../src/sandbox/runtimes/runtimes.ts';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { Stage } from '../../helpers/agent/stage.ts';
import { runtimesDirectory } from '../../helpers/scripts/script-stage.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';

/** Swaps a secret as Kubernetes mounts it. Every user may read it: only the sandbox hides it. */
function mount(mounted: string, version: string, value: string): void {
  mkdirSync(join(mounted, `..${version}`));
  writeFileSync(join(mounted, `..${version}`, 'token'), value);
  if (version === 'first') symlinkSync('..data/token', join(mounted, 'token'));
  else unlinkSync(join(mounted, '..data'));
  symlinkSync(`..${version}`, join(mounted, '..data'));
}

it('scripts get the value of a mounted secret, masked, and not its file, also after it was swapped', async (context) => {
  if ((await readRuntimes(runtimesDirectory)).ids.length === 0) {
    context.skip('no runtime is installed: npm run runtimes:install');
  }
  const scripts = temporaryFolder();
  // Not below /tmp, which scripts have for themselves.
  const mounted = mkdtempSync('/var/tmp/picket-mounted-');
  chmodSync(mounted, 0o755);
  mount(mounted, 'first', 'first-mounted-value');
  await using stage = await Stage.open();
  const agent = stage.startAgent({
    RUNTIMES_DIR: runtimesDirectory,
    SCRIPTS_DIR: scripts.path,
    SECRET_FROM_MOUNT: `file:${mounted}/token`,
    ALLOW_UNISOLATED_SCRIPTS: 'true',
  });
  await agent.logged('script sandbox ready', 90_000);
  const { sandbox } = JSON.parse((await agent.get('/health')).body).scripts;
  if (!String(sandbox.mechanism).includes('namespaces')) context.skip('scripts are not isolated here');
  const script = `import { test } from '@playwright/test';
    import fs from 'node:fs';
    const tried = (action) => { try { return action(); } catch (error) { return error.code; } };
    test('secret', async ({ request }) => {
      const found = ['token', '..data/token', '..first/token', '..second/token'].map((name) =>
        tried(() => fs.readFileSync('${mounted}/' + name, 'utf8').length));
      console.log('found', JSON.stringify(found), 'mine', process.env.SERVICE_SECRET_MOUNT);
      await request.get(process.env.TARGET + '/mounted?v=' + process.env.SERVICE_SECRET_MOUNT);
    });`;
  const resultOf = async () => {
    const check = { id: crypto.randomUUID(), name: 'Test', checkType: 'MULTI_STEP', spec: { script } };
    const run = leasedRun('', { check, variables: { TARGET: stage.target.url() } });
    stage.service.enqueue(run);
    return await stage.service.waitFor('the result', () => stage.service.resultOf(run.runId));
  };
  const results = [await resultOf()];
  mount(mounted, 'second', 'second-mounted-value');
  const hasBeenSeen = (value: string) =>
    stage.target.requests.some((request) => request.includes(`v=${value}`));
  while (!hasBeenSeen('second-mounted-value')) results.push(await resultOf());
  expect(hasBeenSeen('first-mounted-value')).toBe(true);
  for (const result of results) {
    expect(result.failure).toBeNull();
    const text = JSON.stringify(result);
    expect(text).not.toMatch(/(?:first|second)-mounted/);
    expect(text).toMatch(/mine \*+/);
    expect(text).toContain(JSON.stringify(JSON.stringify(Array(4).fill('ENOENT'))).slice(1, -1));
  }
  scripts.remove();
  rmSync(mounted, { recursive: true });
});
