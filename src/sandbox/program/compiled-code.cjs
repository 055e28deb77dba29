'use strict';
/**
 * Uses the compiled code of a runtime's modules, which the operator made when the runtime was installed
 * (compile-modules.mjs). Node's own cache has only those functions that V8 compiles before a module begins: hardly any. This
 * code has all that a run needs, because it is taken when a sample run ends. Changed modules are compiled as usual.
 *
 * Modules of Playwright that no sample used, about half of them, are loaded with the first look at their exports.
 *
 * Runs only ever read it. V8 does not compare it with its source, so a run that could write it could leave code for other
 * runs: where this process may write, nothing is used.
 */
const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const vm = require('node:vm');
const { crc32 } = require('node:zlib');
const { lateExports } = require('./run/late-modules.cjs');

/** Code in files of another format is made again. */
const formatNumber = 2;
/** Data begins at a multiple of this. */
const alignment = 8;
const { _compile: compile } = Module.prototype;
const isOfPackage = /[\\/]node_modules[\\/]/;

/** Modules that only define what they export. */
const mayBeLate = /^modules\/playwright(?:-core)?\/lib\//;

/** The processes of a run need other functions: each reads the code of its own. */
const roles = ['runner', 'worker'];

/** Below a runtime's modules, for one version of Node and one architecture: the files of the roles. */
function compiledFolder(modulesDirectory) {
  return path.join(
    modulesDirectory,
    '.picket-compiled',
    `${process.version}-${process.arch}-${formatNumber}`,
  );
}

/** Playwright's runner and plain scripts run in the process of launch.cjs, which gives its arguments other values later. */
const ownRole = path.basename(process.argv[1] ?? '') === 'launch.cjs' ? 'runner' : 'worker';

/** Uses what was made. It is read for the first module of a package: a script may start processes that load none. */
function useCompiledCode(modulesDirectory) {
  let modules;
  const nameOf = namesBelow(modulesDirectory);
  Module.prototype._compile = function compileWithData(content, filename, format) {
    if (isOfPackage.test(filename)) modules ??= madeCode(modulesDirectory);
    const known = modules?.get(nameOf(filename));
    // V8 compares no more than the length of the source.
    if (known?.sourceSum !== crc32(content)) return compile.call(this, content, filename, format);
    const load = () => {
      const data = undamaged(known);
      return data
        ? run(this, filename, scriptOf(content, filename, data))
        : compile.call(this, content, filename, format);
    };
    return known.unused ? loadWhenUsed(this, known.unused, load) : load();
  };
}

function undamaged({ dataSum, read }) {
  try {
    const data = read();
    return crc32(data) === dataSum ? data : undefined;
  } catch {
    return undefined; // the file is damaged
  }
}

/** Loads a module with the first look at one of its exports. @param names of its exports. */
function loadWhenUsed(module, names, load) {
  let isLoaded = false;
  const late = lateExports(() => {
    if (!isLoaded) {
      isLoaded = true;
      // Modules that it loads, and that load it, see what it has so far.
      module.exports = {};
      try {
        load();
      } catch (error) {
        isLoaded = false;
        module.exports = late;
        throw error;
      }
    }
    return module.exports;
  }, names);
  module.exports = late;
}

/**
 * Returns a function that names the modules of a runtime and our own by their path below their folder, so that an installation that is
 * moved or copied keeps its compiled code. It returns undefined for other files.
 */
function namesBelow(modulesDirectory) {
  const places = [
    ['modules', modulesDirectory + path.sep],
    ['program', __dirname + path.sep],
  ];
  return (filename) => {
    for (const [name, place] of places)
      if (filename.startsWith(place)) return `${name}/${filename.slice(place.length)}`;
    return undefined;
  };
}

function madeCode(modulesDirectory) {
  const file = path.join(compiledFolder(modulesDirectory), ownRole);
  try {
    if (isReadOnly(file) && isReadOnly(path.dirname(file))) return readCompiled(file);
  } catch {
    // Damaged.
  }
  return new Map();
}

/**
 * Whether the code of both roles was made by this version of Node, with our own modules as they are now. The packages of a runtime are
 * replaced together with their compiled code.
 */
function isCurrent(modulesDirectory) {
  return roles.every((role) => {
    let descriptor;
    try {
      descriptor = fs.openSync(path.join(compiledFolder(modulesDirectory), role));
      return readIndex(descriptor).index.every(isAsCompiled);
    } catch {
      return false; // not made, damaged, or of a module that is gone
    } finally {
      if (descriptor !== undefined) fs.closeSync(descriptor);
    }
  });
}

function isAsCompiled([name, sourceSum]) {
  if (!name.startsWith('program/')) return true;
  const source = fs.readFileSync(path.join(__dirname, name.slice('program/'.length)), 'utf8');
  return crc32(source) === sourceSum;
}

/**
 * Records the compiled code of a sample run, and writes it when this process exits.
 *
 * @param before folder with the files of the roles after an earlier round; modules that were unused then are loaded when they are used.
 * @param folder each process of the run writes a file there that `readCompiled` reads. Its name begins with the role.
 */
function recordSample(modulesDirectory, folder, before) {
  const nameOf = namesBelow(modulesDirectory);
  const { setFlagsFromString } = require('node:v8');
  // V8 forgets the code of functions that are no longer called.
  setFlagsFromString('--no-flush-bytecode');
  const earlier = before && path.join(before, ownRole);
  const known = earlier && fs.existsSync(earlier) ? readCompiled(earlier) : new Map();
  const recorded = new Map();
  Module.prototype._compile = function compileAndRecord(content, filename, format) {
    const name = nameOf(filename);
    if (format === 'module' || name === undefined) {
      return compile.call(this, content, filename, format);
    }
    let script;
    try {
      script = scriptOf(content, filename);
    } catch {
      return compile.call(this, content, filename, format); // an ES module, or an error that Node describes
    }
    const one = { sourceSum: crc32(content), script };
    recorded.set(name, one);
    const names = known.get(name)?.unused;
    const load = () => run(this, filename, script);
    const result = names ? loadWhenUsed(this, names, load) : load();
    if (mayBeLate.test(name)) watchUse(this, one, names);
    return result;
  };
  process.once('exit', () => {
    // Code is only valid for the flags that it was made with.
    setFlagsFromString('--flush-bytecode');
    const modules = [...recorded].map(([name, { sourceSum, script, unused }]) => {
      const data = script.createCachedData();
      return [name, { sourceSum, dataSum: crc32(data), unused, read: () => data }];
    });
    writeCompiled(path.join(folder, `${ownRole}-${process.pid}`), new Map(modules));
  });
}

/** Notes the names of a module's exports as unused until another module looks at one of them. */
function watchUse(module, one, names) {
  const { exports } = module;
  if (typeof exports !== 'object' || exports === null || Object.getPrototypeOf(exports) !== Object.prototype)
    return;
  one.unused = names ?? Object.getOwnPropertyNames(exports);
  module.exports = new Proxy(exports, {
    get: (_, name) => {
      if (name !== '__esModule') one.unused = undefined;
      return exports[name];
    },
  });
}

/** As Node compiles CommonJS modules, but as a script, because the code of scripts alone can be taken later. */
function scriptOf(content, filename, cachedData) {
  const [before] = Module.wrapper;
  return new vm.Script(Module.wrap(content), {
    filename,
    columnOffset: -before.length,
    cachedData,
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
}

function run(module, filename, script) {
  const wrapper = script.runInThisContext();
  return wrapper.call(
    module.exports,
    module.exports,
    requireOf(module),
    module,
    filename,
    path.dirname(filename),
  );
}

/** The `require` of a module, with the properties that Node documents. */
function requireOf(module) {
  const require = (id) => module.require(id);
  const resolve = (request, options) => Module._resolveFilename(request, module, false, options);
  resolve.paths = (request) => Module._resolveLookupPaths(request, module);
  return Object.assign(require, {
    resolve,
    main: process.mainModule,
    extensions: Module._extensions,
    cache: Module._cache,
  });
}

/**
 * Returns the modules of a file, by their name: the CRC-32 of their source and of V8's data, the names of the exports of an unused one,
 * and a function that reads the data. The file stays open: most of it is never in memory at once.
 */
function readCompiled(file) {
  const descriptor = fs.openSync(file);
  const { start, index } = readIndex(descriptor);
  return new Map(
    index.map(([name, sourceSum, dataSum, offset, length, unused]) => [
      name,
      { sourceSum, dataSum, length, unused, read: () => bytesAt(descriptor, start + offset, length) },
    ]),
  );
}

function readIndex(descriptor) {
  const start = alignment + bytesAt(descriptor, 0, alignment).readUInt32LE(0);
  return { start, index: JSON.parse(bytesAt(descriptor, alignment, start - alignment).toString('utf8')) };
}

function bytesAt(descriptor, position, length) {
  const bytes = Buffer.allocUnsafeSlow(length);
  if (fs.readSync(descriptor, bytes, 0, length, position) !== length)
    throw new Error('the file is too short');
  return bytes;
}

/** A length, an index in JSON, and the data of each module. */
function writeCompiled(file, modules) {
  const index = [];
  const parts = [];
  let offset = 0;
  for (const [name, { sourceSum, dataSum, unused, read }] of modules) {
    const data = read();
    const padding = Buffer.alloc(missingTo(data.length));
    index.push([name, sourceSum, dataSum, offset, data.length, unused]);
    parts.push(data, padding);
    offset += data.length + padding.length;
  }
  const text = Buffer.from(JSON.stringify(index));
  const json = Buffer.concat([text, Buffer.alloc(missingTo(text.length), ' ')]);
  const head = Buffer.alloc(alignment);
  head.writeUInt32LE(json.length);
  fs.writeFileSync(file, Buffer.concat([head, json, ...parts]));
}

function missingTo(length) {
  return (alignment - (length % alignment)) % alignment;
}

function isReadOnly(place) {
  try {
    fs.accessSync(place, fs.constants.R_OK);
  } catch {
    return false; // made by another version of Node, or not at all
  }
  try {
    fs.accessSync(place, fs.constants.W_OK);
    return false;
  } catch (error) {
    return error.code === 'EACCES' || error.code === 'EROFS';
  }
}

module.exports = {
  roles,
  compiledFolder,
  isCurrent,
  useCompiledCode,
  recordSample,
  readCompiled,
  writeCompiled,
};
