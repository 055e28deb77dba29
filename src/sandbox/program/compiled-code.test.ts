import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;
const program = join(import.meta.dirname, 'compiled-code.cjs');
/** Some user of a sandbox. */
const uid = 24_999;
const source = `exports.fail = () => { throw new Error('failed'); }; const path = require('node:path');
  exports.text = () => 'from the source';
  exports.facts = {
    file: path.basename(__filename), folder: path.basename(__dirname), isOwn: this === module.exports,
    resolved: path.basename(require.resolve('./other.cjs')), paths: require.resolve.paths('x').length > 0,
    isCached: require.cache[__filename] === module, main: require.main === process.mainModule,
  };
  exports.other = () => require('./other.cjs');
  exports.load = () => import('node:path');`;
const lateSource = `Object.defineProperty(module.exports, '__esModule', { value: true });
  if (globalThis.isBroken) throw new Error('broken');
  globalThis.isLateLoaded = true; exports.name = 'late'; exports.own = () => require('./late.js').name;`;
let folder: string;
let modules: string;
let made: string;

beforeEach(async () => {
  folder = await mkdtemp('/var/tmp/picket-compiled-');
  await chmod(folder, 0o755);
  modules = join(folder, 'node_modules');
  const ofVersion = join(modules, '.picket-compiled', `${process.version}-${process.arch}-2`);
  await mkdir(ofVersion, { recursive: true });
  made = join(ofVersion, 'worker');
  await writeFile(join(modules, 'module.cjs'), source);
  await writeFile(join(modules, 'other.cjs'), "module.exports = 'other';");
  await mkdir(join(modules, 'playwright/lib'), { recursive: true });
  await writeFile(join(modules, 'playwright/lib/late.js'), lateSource);
  // As compile-modules.mjs makes it, without Playwright.
  const records = join(folder, 'records');
  await mkdir(records);
  const record = `const [, program, modules, records] = process.argv;
    require(program).recordSample(modules, records);
    const module_ = require(modules + '/module.cjs');
    module_.text();
    module_.other();
    ({ ...Object.getOwnPropertyDescriptors(require(modules + '/playwright/lib/late.js')) });`;
  await run(process.execPath, ['-e', record, program, modules, records]);
  const [name = ''] = await readdir(records);
  await rename(join(records, name), made);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Runs a module of the runtime as the user of a sandbox. */
async function runAsScript(asUid = uid) {
  const script = `const [, program, modules] = process.argv;
    const vm = require('node:vm');
    const { Script } = vm;
    let acceptedCount = 0;
    vm.Script = class extends Script {
      constructor(...args) { super(...args); if (this.cachedDataRejected === false) acceptedCount += 1; }
    };
    require(program).useCompiledCode(modules);
    const { text, facts, other, fail, load } = require(modules + '/module.cjs');
    const said = { text: text(), other: other() };
    let place;
    try { fail(); } catch (error) {
      place = error.stack.includes(modules) && /module.cjs:\\d+:\\d+/.exec(error.stack)[0];
    }
    load().then(({ sep }) => console.log(JSON.stringify({
      acceptedCount, ...said, facts, place, sep })));`;
  const { stdout } = await run(process.execPath, ['-e', script, program, modules], {
    cwd: folder,
    ...(isRoot ? { uid: asUid, gid: asUid } : {}),
  });
  return JSON.parse(stdout) as Record<string, unknown>;
}

const facts = {
  ...{ file: 'module.cjs', folder: 'node_modules', isOwn: true },
  ...{ resolved: 'other.cjs', paths: true, isCached: true, main: true },
};
const usual = { text: 'from the source', other: 'other', facts, place: 'module.cjs:1:30', sep: '/' };

describe.runIf(isRoot)('compiled code of a runtime', () => {
  it('is read by a run of another user, whose modules are as without it', async () => {
    const before = await readFile(made);
    expect(await runAsScript()).toEqual({ ...usual, acceptedCount: 2 });
    expect(await readFile(made)).toEqual(before);
  });

  it('is not used by a process that could write it', async () => {
    const own = { ...usual, acceptedCount: 0 };
    expect(await runAsScript(0)).toEqual(own);
    await chmod(made, 0o666);
    expect(await runAsScript()).toEqual(own);
    await chmod(made, 0o644);
    await chmod(dirname(made), 0o777);
    expect(await runAsScript()).toEqual(own);
  });

  it('is used after the installation was moved, with the new place of its modules', async () => {
    const moved = join(folder, 'moved/node_modules');
    await mkdir(dirname(moved));
    await rename(modules, moved);
    modules = moved;
    expect(await runAsScript()).toEqual({ ...usual, acceptedCount: 2 });
  });

  it('of a module that nothing used is taken with the first look at its exports', async () => {
    const script = `const [, program, modules] = process.argv;
      require(program).useCompiledCode(modules);
      const late = require(modules + '/playwright/lib/late.js');
      const names = Object.getOwnPropertyNames(late);
      const first = { names, isModule: late.__esModule, has: 'own' in late, isLoaded: globalThis.isLateLoaded ?? false };
      let problem;
      globalThis.isBroken = true;
      try { late.own(); } catch ({ message }) { problem = message; }
      globalThis.isBroken = false;
      late.added = 1;
      const again = require(modules + '/playwright/lib/late.js');
      console.log(JSON.stringify({
        first, problem, own: late.own(), added: again.added, all: { ...late, own: 0 }, isLoaded: globalThis.isLateLoaded }));`;
    const { stdout } = await run(process.execPath, ['-e', script, program, modules], { uid, gid: uid });
    expect(JSON.parse(stdout)).toEqual({
      first: { names: ['__esModule', 'name', 'own'], isModule: true, has: true, isLoaded: false },
      problem: 'broken',
      ...{ own: 'late', added: 1, all: { name: 'late', own: 0, added: 1 }, isLoaded: true },
    });
  });

  it('of a changed module is not used, even if its length is the same', async () => {
    await writeFile(join(modules, 'module.cjs'), source.replace('from the source', 'from the change'));
    expect(await runAsScript()).toEqual({
      ...{ ...usual, text: 'from the change' },
      acceptedCount: 1,
    });
  });

  it('is recorded for the role that a process starts with', async () => {
    const records = join(folder, 'own-records');
    await mkdir(records);
    const launch = join(folder, 'launch.cjs');
    const record = `const [, , program, modules, records] = process.argv;
      require(program).recordSample(modules, records);
      process.argv = [process.argv[0], 'playwright', 'test'];
      require(modules + '/module.cjs');`;
    await writeFile(launch, record);
    await run(process.execPath, [launch, program, modules, records]);
    expect(await readdir(records)).toEqual([expect.stringMatching(/^runner-/)]);
  });

  it('is current only if both roles have it, for this Node and for our own modules as they are', async () => {
    const own = join(folder, 'program');
    await cp(import.meta.dirname, own, { recursive: true });
    const isCurrent = async () => {
      const script =
        'const [, program, modules] = process.argv; console.log(require(program).isCurrent(modules));';
      const { stdout } = await run(process.execPath, ['-e', script, join(own, 'compiled-code.cjs'), modules]);
      return stdout.trim() === 'true';
    };
    const records = join(folder, 'own-records');
    await mkdir(records);
    const record = `const [, program, modules, records] = process.argv;
      require(program + '/compiled-code.cjs').recordSample(modules, records);
      require(program + '/call-sites.cjs');
      require(modules + '/module.cjs');`;
    await run(process.execPath, ['-e', record, own, modules, records]);
    const [name = ''] = await readdir(records);
    await rename(join(records, name), made);
    expect(await isCurrent(), 'without that of the runner').toBe(false);
    await cp(made, join(dirname(made), 'runner'));
    expect(await isCurrent()).toBe(true);
    const module = join(own, 'call-sites.cjs');
    const text = await readFile(module, 'utf8');
    await writeFile(module, `${text}// changed`);
    expect(await isCurrent(), 'of another version of Picket').toBe(false);
    await writeFile(module, text);
    expect(await isCurrent()).toBe(true);
    await rename(dirname(made), join(modules, '.picket-compiled', `v20.0.0-${process.arch}-2`));
    expect(await isCurrent(), 'of another version of Node').toBe(false);
  });

  it('of another version of Node is ignored, and so is a damaged one', async () => {
    const bytes = await readFile(made);
    await writeFile(
      made,
      bytes.map((byte, at) => (at > bytes.length / 2 ? 7 : byte)),
    );
    expect(await runAsScript()).toMatchObject(usual);
    await writeFile(made, bytes.subarray(0, 20));
    expect(await runAsScript()).toEqual({ ...usual, acceptedCount: 0 });
    await rename(dirname(made), join(modules, '.picket-compiled', `v20.0.0-${process.arch}-2`));
    expect(await runAsScript()).toEqual({ ...usual, acceptedCount: 0 });
  });
});
