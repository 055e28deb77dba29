// Runs scripts of its folder: `run('agent')` runs agent.cjs and the parts that it requires. What `compile.mjs` has compiled of them spares
// V8 that work; where that is absent, or of another V8 or other flags, V8 compiles as ever. Node's own cache of modules cannot be shipped:
// it is named after the processor and the user.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Script } from 'node:vm';

const { dirname: folder } = import.meta;
const requirePackage = createRequire(import.meta.url);
const modules = new Map();
let entry = '';

/** @param name the entry, without its extension. */
export function run(name) {
  // Parts name threads and files next to them as the entry does.
  entry = join(folder, `${name}.js`);
  requirePart(join(folder, `${name}.cjs`));
}

function requirePart(file) {
  const loaded = modules.get(file);
  if (loaded) return loaded.exports;
  const module = { exports: {} };
  modules.set(file, module);
  // Bundles are ASCII: as latin1, V8 keeps them with one byte per character, without a look at each.
  const script = new Script(readFileSync(file, 'latin1'), { filename: file, cachedData: compiled(file) });
  const wrapper = script.runInThisContext();
  wrapper(module.exports, requireFrom, module, entry, folder);
  return module.exports;
}

function requireFrom(name) {
  return name.startsWith('./') ? requirePart(join(folder, name)) : requirePackage(name);
}

function compiled(file) {
  try {
    return readFileSync(`${file}.compiled`);
  } catch {
    return undefined;
  }
}
