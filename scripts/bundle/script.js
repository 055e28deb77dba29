// Runs the script of its own name that lies next to it: agent.js runs agent.cjs. What `compile.mjs` has compiled of it spares V8 that
// work; where that is absent, or of another V8 or other flags, V8 compiles as ever. Node's own cache of modules cannot be shipped:
// it is named after the processor and the user, and has no functions that are compiled when they are called.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Script } from 'node:vm';

const filename = import.meta.filename.replace(/\.js$/, '.cjs');
const script = new Script(readFileSync(filename, 'utf8'), { filename, cachedData: compiled() });
const module = { exports: {} };
script.runInThisContext()(
  module.exports,
  createRequire(import.meta.url),
  module,
  import.meta.filename,
  import.meta.dirname,
);

function compiled() {
  try {
    return readFileSync(`${filename}.compiled`);
  } catch {
    return undefined;
  }
}
