'use strict';
/** One setup or teardown script, from its text to its end. */
const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const vm = require('node:vm');
const { asFunctionBody, parse, withoutTypes } = require('../script-source.cjs');

const head = '(async function (require, module, exports, __filename, __dirname) {';
/** Names that cannot escape the folder of snippets. */
const plainName = /^[^/\\\0]+$/;

/**
 * A script as an async function, so that `await` and `require` work at its top level. It runs as `script.js` in the
 * folder of the run, whatever its name in the account. JavaScript is compiled unchanged; if that fails, the script may
 * be TypeScript or have imports, and is compiled again after a transformation, which takes longer.
 */
class LifecycleScript {
  #file;
  #run;
  #job;

  /** @throws SyntaxError */
  constructor(source, job) {
    this.#job = job;
    this.#file = path.join(job.directory, job.path ?? 'script.js');
    this.#run = this.#compile(source);
  }

  async run() {
    await this.#writeFiles();
    const module = new Module(this.#file, null);
    module.filename = this.#file;
    module.paths = Module._nodeModulePaths(path.dirname(this.#file));
    const load = Module.createRequire(this.#file);
    const require = Object.assign((name) => {
      if (typeof name === 'string' && name.startsWith('./snippets/')) this.#writeSnippets();
      return load(name);
    }, load);
    await this.#run.call(
      module.exports,
      require,
      module,
      module.exports,
      this.#file,
      path.dirname(this.#file),
    );
  }

  /** Its files may be TypeScript with imports: Playwright's transform is enabled for scripts that have files. */
  async #writeFiles() {
    const { directory, files = [], modulesDirectory } = this.#job;
    if (files.length === 0) return;
    for (const { path: name, content } of files) {
      const file = path.join(directory, name);
      fs.mkdirSync(path.dirname(file), { recursive: true });
      fs.writeFileSync(file, content);
    }
    const transform = require(path.join(modulesDirectory, 'playwright/lib/transform/transform.js'));
    // Loading any file through the transform enables it.
    await transform.requireOrImport(path.join(__dirname, '../events.cjs'));
  }

  /** Snippets are written when the first one is required: most scripts use none. */
  #writeSnippets() {
    const folder = path.join(path.dirname(this.#file), 'snippets');
    if (fs.existsSync(folder)) return;
    fs.mkdirSync(folder, { recursive: true });
    for (const { name, script } of this.#job.snippets) {
      if (plainName.test(name)) fs.writeFileSync(path.join(folder, `${name}.js`), script);
    }
  }

  #compile(source) {
    try {
      return this.#function(`${head}${source}\n})`);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      try {
        const body = asFunctionBody(source, parse(this.#job.modulesDirectory, source));
        return this.#function(withoutTypes(`${head}${body}\n})`));
      } catch {
        // The transformation failed, too: the author needs the original JavaScript error.
        throw Object.assign(error, { isOfScript: true });
      }
    }
  }

  #function(text) {
    return new vm.Script(text, {
      filename: this.#file,
      columnOffset: -head.length,
      importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    }).runInThisContext();
  }
}

module.exports = { LifecycleScript };
