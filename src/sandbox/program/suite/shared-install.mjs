/**
 * Decides whether the packages of a suite follow from its lockfile, manifests and settings alone. Then all suites with
 * the same ones can use one installation, whatever their tests are. Anything that is not known to be harmless is refused:
 * such a suite has an installation of its own.
 */
import {
  pnpmFields,
  unknownNpmSetting,
  unknownWorkspaceSetting,
  unknownYarn1Setting,
  unknownYarnSetting,
} from './harmless-settings.mjs';

/** Files that run as code, or replace packages, while a manager installs. */
const codeNames = ['.pnpmfile.cjs', '.pnpmfile.mjs', 'pnpmfile.js', 'binding.gyp', '.pnp.cjs', '.pnp.js'];

/** Scripts of a project that managers run while they install. */
const installScripts = [
  'preinstall',
  'install',
  'postinstall',
  'preprepare',
  'prepare',
  'postprepare',
  'prepublish',
  'dependencies',
  'pnpm:devPreinstall',
];
/** Sets up hooks of Git, and changes no package. */
const gitHooks = /^husky(?: install)?(?: ?\|\| ?(?:true|exit 0))?$/;

const unknownSetting = {
  '.npmrc': unknownNpmSetting,
  '.yarnrc': unknownYarn1Setting,
  '.yarnrc.yml': unknownYarnSetting,
  'pnpm-workspace.yaml': unknownWorkspaceSetting,
};

const lockfileProblems = {
  npm: npmProblem,
  pnpm: pnpmProblem,
  yarn1: yarn1Problem,
  yarn4: yarn4Problem,
};

/**
 * @param suite.manager the manager of the lockfile.
 * @param suite.lockfile its text.
 * @param suite.files manifests and settings, as `[path, text]`.
 * @param suite.names the names of all files and folders of the suite.
 * @returns why the packages may depend on more; undefined if they do not.
 */
export function whyNotShared({ manager, lockfile, files, names }) {
  const code = codeNames.find((name) => names.has(name));
  if (code !== undefined) return `${code} may change what is installed`;
  if (names.has('node_modules')) return 'the bundle brings node_modules';
  for (const [path, text] of files) {
    const problem = fileProblem(path, text);
    if (problem !== undefined) return `${path}: ${problem}`;
  }
  const lockfileProblem = lockfileProblems[manager];
  return lockfileProblem ? lockfileProblem(lockfile) : `installations of ${manager} are not shared`;
}

function fileProblem(path, text) {
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (name === 'package.json') return manifestProblem(text, path === name);
  const unknown = unknownSetting[name]?.(text);
  return unknown === undefined ? undefined : `"${unknown.slice(0, 80)}" may change what is installed`;
}

function manifestProblem(text, isTop) {
  const manifest = objectOf(text);
  if (!manifest) return 'it is not a JSON object';
  const scripts = isObject(manifest.scripts) ? manifest.scripts : {};
  for (const name of installScripts) {
    const script = scripts[name];
    if (script === undefined || (name === 'prepare' && gitHooks.test(script))) continue;
    return `its script "${name}" runs while installing`;
  }
  // Managers link to them only if the files are there.
  if (!isTop && (manifest.bin !== undefined || manifest.directories !== undefined)) {
    return 'a package of the workspace has commands';
  }
  const field = Object.keys(isObject(manifest.pnpm) ? manifest.pnpm : {}).find((key) => !pnpmFields.has(key));
  if (field !== undefined) return `pnpm.${field} may change what is installed`;
  return JSON.stringify(manifest.workspaces ?? []).includes('..') ? 'a workspace lies outside' : undefined;
}

function npmProblem(text) {
  const packages = objectOf(text)?.packages;
  if (!isObject(packages)) return 'the lockfile is of npm 6 or older';
  for (const [path, entry] of Object.entries(packages)) {
    if (!path.includes('node_modules/')) continue;
    const { link, inBundle, integrity, resolved } = isObject(entry) ? entry : {};
    const isKnown = link === true ? isInside(resolved) : inBundle === true || isPinned(integrity, resolved);
    if (!isKnown) return noChecksum(path);
  }
  return undefined;
}

function isInside(target) {
  return typeof target === 'string' && !target.startsWith('/') && !target.split('/').includes('..');
}

function isPinned(integrity, resolved) {
  return typeof integrity === 'string' && (resolved === undefined || /^https?:/.test(String(resolved)));
}

function pnpmProblem(text) {
  if (/^(?:patchedDependencies|pnpmfileChecksum|configDependencies):/m.test(text)) {
    return 'the lockfile has patches or hooks';
  }
  const loose = text
    .split(/\r?\n/)
    .find((line) => /^\s+resolution:/.test(line) && !/\{integrity: [^\s,}]+\}$/.test(line));
  return loose === undefined ? undefined : noChecksum(loose.trim());
}

function yarn1Problem(text) {
  const loose = blocksOf(text).find(
    (block) => !/^ {2}integrity \S/m.test(block) || !/^ {2}resolved "?https?:/m.test(block),
  );
  return loose === undefined ? undefined : noChecksum(loose);
}

function yarn4Problem(text) {
  for (const block of blocksOf(text)) {
    const resolution = /^ {2}resolution: "?(.*?)"?$/m.exec(block)?.[1] ?? '';
    const source = resolution.slice(resolution.indexOf('@', 1) + 1);
    if (source.startsWith('workspace:') && !source.includes('..')) continue;
    const isPublished = source.startsWith('npm:') || /^patch:[^#]*#(?:~|optional!)builtin</.test(source);
    // A package for some platforms has conditions and no checksum.
    if (!isPublished || !/^ {2}(?:checksum|conditions): /m.test(block)) return noChecksum(block);
  }
  return undefined;
}

/** The entries of a lockfile of Yarn. */
function blocksOf(text) {
  return text.split(/\r?\n(?=\S)/).filter((block) => !/^(?:#|__metadata:|\s*$)/.test(block));
}

function noChecksum(entry) {
  return `the lockfile has no checksum for ${entry.split('\n')[0].slice(0, 120)}`;
}

function objectOf(text) {
  try {
    const value = JSON.parse(text.replace(/^\uFEFF/, ''));
    return isObject(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
