/**
 * Unpacks the archive of a Playwright suite, with the identity of the run, before any of the customer's code has run.
 * The archive arrives on standard input, the job as JSON in the first argument; the result is one line on descriptor 3.
 *
 * Only files, folders and links within the tree are accepted. Links are created last, so that no write ever passes
 * through one; any other kind of entry rejects the whole archive.
 */
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import tar from 'tar-stream';
import { isArchiveBroken } from '../foreign-texts.cjs';
import { harmlessVariables } from './harmless-settings.mjs';
import { whyNotShared } from './shared-install.mjs';

/** The archive is not acceptable; the message explains why. */
class Refused extends Error {}

const maxNameLength = 1000;
/** Headers and padding of entries count as bytes of the archive, too. */
const bytesPerEntry = 4096;
const lockfiles = [
  ['package-lock.json', 'npm'],
  ['npm-shrinkwrap.json', 'npm'],
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
];

/** Files with the settings and commands of package managers. */
const settingFiles = new Set([
  'package.json',
  '.npmrc',
  '.yarnrc',
  '.yarnrc.yml',
  'pnpm-workspace.yaml',
  'bunfig.toml',
]);
const maxNamedVariables = 200;
const maxRangeLength = 200;
/** Limits of the files that are laid out for a shared installation. */
const maxSharedFiles = 1000;
const maxSharedBytes = 32 * 1024 * 1024;

const job = JSON.parse(process.argv[2]);
const links = [];
let entryCount = 0;
let fileBytes = 0;

try {
  fs.mkdirSync(job.directory, { recursive: true, mode: 0o755 });
  await unpack();
  makeLinks();
  const found = inspect();
  answer({ ok: true, entryCount, fileBytes, ...found });
} catch (error) {
  if (!isRefusal(error)) throw error;
  answer({ ok: false, message: error.message });
}

function answer(result) {
  fs.writeSync(3, `${JSON.stringify(result)}\n`);
}

/** Whether an archive can cause the error; all other errors are bugs of ours. */
function isRefusal(error) {
  const { code } = error;
  if (error instanceof Refused || /^(Z_|ERR_STREAM)/.test(code ?? '')) return true;
  if (['ENOTDIR', 'EISDIR', 'EEXIST', 'ENAMETOOLONG', 'EFBIG', 'ELOOP', 'EINVAL'].includes(code)) return true;
  return isArchiveBroken(error.message);
}

async function unpack() {
  const extract = tar.extract();
  extract.on('entry', (header, stream, next) => {
    stream.on('error', () => undefined); // the archive's own error is reported
    take(header, stream).then(
      () => next(),
      (error) => extract.destroy(error),
    );
  });
  let seenBytes = 0;
  const bounded = new Transform({
    transform(chunk, _encoding, done) {
      seenBytes += chunk.length;
      const isTooLarge = seenBytes > job.maxBytes + bytesPerEntry * job.maxEntries;
      done(isTooLarge ? new Refused(`it unpacks to more than ${job.maxBytes} bytes`) : null, chunk);
    },
  });
  await pipeline(process.stdin, createGunzip(), bounded, extract);
}

async function take(header, stream) {
  entryCount += 1;
  if (entryCount > job.maxEntries) throw new Refused(`it has more than ${job.maxEntries} entries`);
  const relative = placeOf(header.name);
  const place = path.join(job.directory, relative);
  switch (header.type) {
    case 'directory':
      fs.mkdirSync(place, { recursive: true, mode: 0o755 });
      break;
    case 'symlink':
      links.push({ relative, target: header.linkname ?? '' });
      if (links.length > job.maxEntries) throw new Refused('it has too many links');
      break;
    case 'file':
    case 'contiguous-file':
      await write(place, header, stream);
      return;
    default:
      throw new Refused(
        `"${shown(header.name)}" is a ${header.type}; only files, folders and symbolic links may be in it`,
      );
  }
  stream.resume();
}

async function write(place, header, stream) {
  fileBytes += header.size;
  if (fileBytes > job.maxBytes) throw new Refused(`it unpacks to more than ${job.maxBytes} bytes`);
  fs.mkdirSync(path.dirname(place), { recursive: true, mode: 0o755 });
  // An archive may contain a name twice: the last one counts.
  fs.rmSync(place, { force: true });
  const mode = header.mode & 0o111 ? 0o755 : 0o644;
  await pipeline(stream, fs.createWriteStream(place, { flags: 'wx', mode }));
}

/** The path of an entry, relative to the folder. */
function placeOf(name) {
  const normal = path.posix.normalize(name).replace(/\/+$/, '');
  if (name === '' || name.length > maxNameLength || /[\0\\]/.test(name)) {
    throw new Refused(`"${shown(name)}" is not a path`);
  }
  if (path.posix.isAbsolute(name) || name.split('/').includes('..')) {
    throw new Refused(`"${shown(name)}" leads out of the suite`);
  }
  return normal;
}

function makeLinks() {
  for (const { relative, target } of links) {
    const place = path.join(job.directory, relative);
    const end = path.posix.normalize(path.posix.join(path.posix.dirname(relative), target));
    if (
      target === '' ||
      target.includes('\0') ||
      path.posix.isAbsolute(target) ||
      end === '..' ||
      end.startsWith('../')
    ) {
      throw new Refused(`the link "${shown(relative)}" leads out of the suite`);
    }
    const parent = path.dirname(place);
    fs.mkdirSync(parent, { recursive: true, mode: 0o755 });
    if (
      fs.realpathSync.native(parent) !==
      path.join(fs.realpathSync.native(job.directory), path.dirname(relative))
    ) {
      throw new Refused(`"${shown(relative)}" lies behind a link`);
    }
    fs.symlinkSync(target, place);
  }
  // Each link points inside by its text; a chain of several may not. Only the kernel (native) resolves them step by
  // step.
  const root = fs.realpathSync.native(job.directory);
  for (const { relative } of links) {
    let real;
    try {
      real = fs.realpathSync.native(path.join(job.directory, relative));
    } catch (error) {
      if (error.code === 'ENOENT') continue;
      throw error;
    }
    if (real !== root && !real.startsWith(root + path.sep)) {
      throw new Refused(`the link "${shown(relative)}" leads out of the suite`);
    }
  }
}

/**
 * Collects the facts for the installation: the relevant lockfile, a hash of the whole tree, and the variables that its
 * manifests refer to.
 */
function inspect() {
  const working = path.join(job.directory, job.workingDirectory);
  if (!fs.existsSync(working) || !fs.statSync(working).isDirectory()) {
    throw new Refused(`it has no folder "${shown(job.workingDirectory)}", the workingDir of the check`);
  }
  const hasModules = fs.existsSync(path.join(working, 'node_modules'));
  const tree = readTree();
  const { contentHash } = tree;
  const namedVariables = variablesIn(tree.files.filter(isSetting).map(([, bytes]) => String(bytes)));
  for (let folder = job.workingDirectory; ; folder = path.posix.dirname(folder)) {
    for (const [file, name] of lockfiles) {
      const lockfile = path.join(job.directory, folder, file);
      if (!fs.existsSync(lockfile)) continue;
      const manager = name === 'yarn' ? yarnKind(lockfile) : name;
      return {
        manager,
        lockfile: path.posix.join(folder, file),
        installDirectory: folder,
        contentHash,
        namedVariables,
        hasModules,
        sharing: share(tree, manager, lockfile),
        wishes: wishesOf(folder, fs.readFileSync(lockfile, 'utf8')),
      };
    }
    if (folder === '.') break;
  }
  return {
    manager: null,
    lockfile: null,
    installDirectory: job.workingDirectory,
    contentHash,
    namedVariables,
    hasModules,
    sharing: { problem: 'there is no lockfile' },
    wishes: wishesOf(job.workingDirectory, ''),
  };
}

/** Versions of programs that the manifest next to the lockfile, and the format of the lockfile, ask for. */
function wishesOf(folder, lockfile) {
  const { packageManager, engines, devEngines } = manifestOf(
    path.join(job.directory, folder, 'package.json'),
  );
  const ranges = [devEngines?.packageManager, devEngines?.runtime]
    .flat()
    .filter((one) => typeof one?.name === 'string')
    .map(({ name, version }) => [name, version]);
  const texts = Object.entries({
    ...Object.fromEntries(ranges),
    ...(typeof engines === 'object' ? engines : {}),
  })
    .filter(([, range]) => typeof range === 'string' && range.length <= maxRangeLength)
    .slice(0, maxNamedVariables);
  const format = /^(?:lockfileVersion: '?|__metadata:\r?\n {2}version: )([\d.]+)/m.exec(lockfile)?.[1];
  return {
    packageManager: typeof packageManager === 'string' ? packageManager.slice(0, maxRangeLength) : null,
    engines: Object.fromEntries(texts),
    lockfileVersion: format ?? null,
  };
}

function manifestOf(file) {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8').replace(/^\uFEFF/, '')) ?? {};
  } catch (error) {
    // Without a manifest, or with a broken one, the manager says so itself.
    if (error instanceof SyntaxError || ['ENOENT', 'EISDIR', 'ENOTDIR', 'ELOOP'].includes(error.code))
      return {};
    throw error;
  }
}

function yarnKind(lockfile) {
  return /^__metadata:/m.test(fs.readFileSync(lockfile, 'utf8')) ? 'yarn4' : 'yarn1';
}

/**
 * An installation may run any file of the tree (scripts of package.json, hooks, plugins, patches), so all of them
 * affect the result, including their modes and links.
 */
function readTree() {
  const lines = [];
  /** Manifests, settings and lockfiles. */
  const files = [];
  const names = new Set();
  let linked;
  const read = (folder) => {
    for (const entry of fs.readdirSync(path.join(job.directory, folder), { withFileTypes: true })) {
      const file = path.posix.join(folder, entry.name);
      const place = path.join(job.directory, file);
      const isKept = settingFiles.has(entry.name) || lockfiles.some(([name]) => name === entry.name);
      names.add(entry.name);
      if (isKept && !entry.isFile()) linked ??= file;
      if (entry.isDirectory()) read(file);
      else if (entry.isSymbolicLink()) lines.push(JSON.stringify([file, 'link', fs.readlinkSync(place)]));
      else {
        const bytes = fs.readFileSync(place);
        const isExecutable = (fs.statSync(place).mode & 0o100) !== 0;
        lines.push(JSON.stringify([file, isExecutable, createHash('sha256').update(bytes).digest('hex')]));
        if (isKept) files.push([file, bytes]);
      }
    }
  };
  read('.');
  return {
    contentHash: createHash('sha256').update(lines.sort().join('\n')).digest('hex'),
    files,
    names,
    linked,
  };
}

function isSetting([file]) {
  return settingFiles.has(path.posix.basename(file));
}

/**
 * Lays out what a shared installation needs, and nothing else of the suite, in a folder of its own.
 *
 * @returns the hash of these files and the variables for it, or why the suite needs its own installation.
 */
function share({ files, names, linked }, manager, lockfile) {
  if (linked !== undefined) return { problem: `${linked} is not a regular file` };
  const sizeBytes = files.reduce((sum, [, bytes]) => sum + bytes.length, 0);
  if (files.length > maxSharedFiles || sizeBytes > maxSharedBytes)
    return { problem: 'it has too many manifests' };
  const texts = files.filter(isSetting).map(([file, bytes]) => [file, String(bytes)]);
  const problem = whyNotShared({ manager, lockfile: fs.readFileSync(lockfile, 'utf8'), files: texts, names });
  if (problem !== undefined) return { problem };
  const settings = texts
    .filter(([file]) => path.posix.basename(file) !== 'package.json')
    .map(([, text]) => text);
  const { unknown, chosen } = harmlessVariables(job.variableNames, variablesIn(settings));
  if (unknown !== undefined) return { problem: `the variable ${unknown} may change what is installed` };
  const hash = createHash('sha256');
  for (const [file, bytes] of files.sort(([one], [other]) => (one < other ? -1 : 1))) {
    hash.update(JSON.stringify([file, bytes.length])).update(bytes);
    const place = path.join(job.sharedDirectory, file);
    fs.mkdirSync(path.dirname(place), { recursive: true, mode: 0o755 });
    fs.writeFileSync(place, bytes);
  }
  const allowsScripts = texts.some(([, text]) => /(?:only|never)BuiltDependencies|allowBuilds/.test(text));
  return { hash: hash.digest('hex'), variableNames: chosen, allowsScripts };
}

/** Names of variables in texts, in the notation of shells and package managers: `$NAME`, `${NAME}`. */
function variablesIn(texts) {
  const found = texts.flatMap((text) => [...text.matchAll(/\$\{?([A-Za-z_][A-Za-z0-9_]*)/g)]);
  return [...new Set(found.map(([, name]) => name))].slice(0, maxNamedVariables);
}

function shown(name) {
  return String(name).slice(0, 200);
}
