// Runs the script of its own name that lies next to it, and the parts that one requires: agent.js runs agent.cjs. What `compile.mjs` has
// compiled of them spares V8 that work; where that is absent, or of another V8 or other flags, V8 compiles as ever. Node's own cache of
// modules cannot be shipped: it is named after the processor and the user, and has no functions that are compiled when they are called.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Script } from 'node:vm';

const { dirname: folder, filename: entry } = import.meta;
const requirePackage = createRequire(import.meta.url);
const modules = new Map();

requirePart(entry.replace(/\.js$/, '.cjs'));

function requirePart(file) {
  const loaded = modules.get(file);
  if (loaded) return loaded.exports;
  const module = { exports: {} };
  modules.set(file, module);
  const script = new Script(readFileSync(file, 'utf8'), { filename: file, cachedData: compiled(file) });
  const run = script.runInThisContext();
  // Parts name threads and files next to them as the entry does.
  run(module.exports, requireFrom, module, entry, folder);
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
