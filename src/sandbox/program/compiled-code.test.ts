import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;
const program = join(import.meta.dirname, 'compiled-code.cjs');
/** Some user of a sandbox. */
const uid = 24_999;
let folder: string;
let modules: string;
let made: string;

beforeEach(async () => {
  folder = await mkdtemp('/var/tmp/picket-compiled-');
  await chmod(folder, 0o755);
  modules = join(folder, 'modules');
  made = join(modules, '.picket-compiled', `${process.version}-${process.arch}`);
  await mkdir(join(modules, '.picket-compiled'), { recursive: true });
  await writeFile(join(modules, 'module.cjs'), 'module.exports = () => "from the source";');
  await writeFile(join(folder, 'script.cjs'), 'module.exports = 1;');
  // As compile-modules.mjs makes it, without Playwright.
  const cache = join(folder, 'cache');
  await run(process.execPath, ['-e', 'require(process.argv[1])()', join(modules, 'module.cjs')], {
    env: { NODE_COMPILE_CACHE: cache },
  });
  const [name = ''] = await readdir(cache);
  await rename(join(cache, name), made);
  await chmod(made, 0o755);
  for (const file of await readdir(made)) await chmod(join(made, file), 0o644);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Runs a module of the runtime and one of the script, as the user of a sandbox. */
async function runAsScript(asUid = uid) {
  const own = join(folder, `run-${asUid}`);
  await mkdir(own);
  await chmod(own, 0o777);
  const source = `const [, program, modules, own, script] = process.argv;
    const isUsed = require(program).useCompiledCode(modules, own + '/compiled');
    const text = require(modules + '/module.cjs')();
    require(script);
    console.log(JSON.stringify({ isUsed, text }));`;
  const { stdout, stderr } = await run(
    process.execPath,
    ['-e', source, program, modules, own, join(folder, 'script.cjs')],
    { env: { NODE_DEBUG_NATIVE: 'COMPILE_CACHE' }, cwd: own, ...(isRoot ? { uid: asUid, gid: asUid } : {}) },
  );
  const isFromCache = /module\.cjs was accepted/.test(stderr);
  return {
    ...(JSON.parse(
      stdout
        .trim()
        .split('\n')
        .find((line) => line.startsWith('{')) ?? '{}',
    ) as object),
    isFromCache,
  };
}

describe.runIf(isRoot)('compiled code of a runtime', () => {
  it('is read by a run of another user, which leaves nothing in it', async () => {
    const before = await readdir(made);
    expect(await runAsScript()).toEqual({ isUsed: true, text: 'from the source', isFromCache: true });
    expect(await readdir(made)).toEqual(before);
  });

  it('is not used by a process that could write it', async () => {
    expect(await runAsScript(0)).toEqual({ isUsed: false, text: 'from the source', isFromCache: false });
    await chmod(made, 0o777);
    expect(await runAsScript()).toEqual({ isUsed: false, text: 'from the source', isFromCache: false });
  });

  it('of another version of Node is ignored, and so is a damaged one', async () => {
    for (const name of await readdir(made)) {
      const bytes = await readFile(join(made, name));
      await writeFile(join(made, name), bytes.fill(7, bytes.length / 2));
    }
    expect(await runAsScript()).toEqual({ isUsed: true, text: 'from the source', isFromCache: false });
    await rename(made, join(modules, '.picket-compiled', `v20.0.0-${process.arch}`));
    expect(await runAsScript(uid - 1)).toEqual({
      isUsed: false,
      text: 'from the source',
      isFromCache: false,
    });
  });
});
