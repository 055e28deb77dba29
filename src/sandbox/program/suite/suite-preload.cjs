'use strict';
/**
 * Preloaded in every Node process of a Playwright suite. It only acts in the process that is Playwright's command line:
 * it links the browsers for that version of Playwright, and replaces the suite's configuration by one of ours, which
 * loads the original and adds the settings of every run. It does not matter how the command was started (npx, a script
 * of package.json).
 */
require('../own-user.cjs');
const fs = require('node:fs');
const path = require('node:path');
const Module = require('node:module');
const { observeOutput } = require('../observers/output-observer.cjs');
const { watchSecrets } = require('../secret-watch.cjs');
const { adaptConfig } = require('./suite-config.cjs');

const configNames = ['ts', 'js', 'mts', 'mjs', 'cts', 'cjs'].map(
  (extension) => `playwright.config.${extension}`,
);
const settings = JSON.parse(process.env.PICKET_SUITE ?? 'null');

if (settings) {
  watchSecrets();
  joinOutputOfTraces();
  // Our configuration finds it here, in the runner and in every worker.
  Object.defineProperty(globalThis, Symbol.for('picket.suite-config'), {
    value: (config) => adaptConfig(config, settings),
  });
  const cli = playwrightCli();
  if (cli) {
    process.env.PLAYWRIGHT_BROWSERS_PATH = plantBrowsers(cli);
    redirectConfig();
  }
}

/** Traces receive the output of a test in whole lines, so that secrets written in pieces are found. */
function joinOutputOfTraces() {
  const load = Module._load;
  Module._load = function loadObserved(request, ...rest) {
    const loaded = load.call(this, request, ...rest);
    if (typeof request === 'string' && /(^|[\\/])testTracing(\.js)?$/.test(request)) observeOutput(loaded);
    return loaded;
  };
}

/** The real path of Playwright's command line, if this process runs tests with it. */
function playwrightCli() {
  if (process.argv[1] === undefined || process.argv[2] !== 'test') return undefined;
  let program;
  try {
    program = fs.realpathSync(process.argv[1]);
  } catch {
    return undefined; // Node reports the error itself
  }
  return /[\\/](@playwright[\\/]test|playwright)[\\/]cli\.js$/.test(program) ? program : undefined;
}

/** Links the paths where this version of Playwright expects its own downloads to the browser of the agent. */
function plantBrowsers(cli) {
  const directory = path.join(settings.privateDirectory, 'browsers');
  const { executablePath, ffmpegPath } = settings;
  const { browsers } = JSON.parse(fs.readFileSync(path.join(coreDirectory(cli), 'browsers.json'), 'utf8'));
  const places = {
    chromium: ['chromium', ['chrome-linux/chrome', 'chrome-linux64/chrome'], executablePath],
    'chromium-headless-shell': [
      'chromium_headless_shell',
      ['chrome-linux/headless_shell', 'chrome-headless-shell-linux64/chrome-headless-shell'],
      executablePath,
    ],
    ffmpeg: ['ffmpeg', ['ffmpeg-linux'], ffmpegPath],
  };
  for (const { name, revision } of browsers) {
    const [folder, paths, target] = places[name] ?? [];
    if (folder === undefined || !target) continue;
    for (const file of paths) {
      const link = path.join(directory, `${folder}-${revision}`, file);
      fs.mkdirSync(path.dirname(link), { recursive: true });
      // A command may start Playwright several times.
      fs.rmSync(link, { force: true });
      fs.symlinkSync(target, link);
    }
    fs.writeFileSync(path.join(directory, `${folder}-${revision}`, 'INSTALLATION_COMPLETE'), '');
  }
  plantOtherBrowsers(directory, browsers);
  return directory;
}

/** Links the builds of other browsers that the suite names, and says which one this Playwright needs instead. */
function plantOtherBrowsers(directory, wanted) {
  fs.mkdirSync(directory, { recursive: true });
  for (const one of settings.otherBrowsers) {
    // Playwright finds browsers of other makers by itself.
    if (!wanted.some(({ name }) => name === one.name)) continue;
    const link = path.join(directory, path.basename(one.path));
    fs.rmSync(link, { force: true });
    fs.symlinkSync(one.path, link);
  }
  for (const { name, revision } of wanted) {
    const here = settings.otherBrowsers.filter((one) => one.name === name).map(({ version }) => version);
    if (here.length === 0 || here.includes(revision)) continue;
    process.stderr.write(
      `This agent has ${name} ${here.join(', ')}; this version of Playwright opens ${name} ${revision}.\n`,
    );
  }
}

function coreDirectory(cli) {
  let from = cli;
  if (/@playwright[\\/]test[\\/]cli\.js$/.test(cli))
    from = Module.createRequire(cli).resolve('playwright/package.json');
  return path.dirname(Module.createRequire(from).resolve('playwright-core/package.json'));
}

/** Makes the command line read our configuration file instead of the suite's, in the same folder. */
function redirectConfig() {
  const { named, rest } = takeConfigOption(process.argv.slice(3));
  const given = path.resolve(named ?? '.');
  let own;
  if (!isDirectory(given)) own = given;
  else own = configNames.map((name) => path.join(given, name)).find((file) => fs.existsSync(file));
  // Playwright reports a missing file.
  if (own !== undefined && !fs.existsSync(own)) return;
  const folder = own === undefined ? given : path.dirname(own);
  const extension = own === undefined ? '.cjs' : path.extname(own);
  const ours = path.join(folder, `.picket-playwright.config${extension}`);
  fs.writeFileSync(ours, sourceOf(own && `./${path.basename(own)}`, extension));
  process.argv = [...process.argv.slice(0, 3), '--config', ours, ...rest];
}

function takeConfigOption(args) {
  const rest = [];
  let named;
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index];
    if (arg === '--') {
      rest.push(...args.slice(index));
      break;
    }
    if (arg === '-c' || arg === '--config') {
      index += 1;
      named = args[index];
    } else if (arg.startsWith('--config=')) named = arg.slice('--config='.length);
    else if (/^-c./.test(arg)) named = arg.slice(2);
    else rest.push(arg);
  }
  return { named, rest };
}

function sourceOf(own, extension) {
  const adapt = "globalThis[Symbol.for('picket.suite-config')]";
  if (own === undefined) return `module.exports = ${adapt}({});\n`;
  const name = JSON.stringify(own);
  if (extension === '.cjs')
    return `const own = require(${name});\nmodule.exports = ${adapt}(own.default ?? own);\n`;
  return `import * as own from ${name};\nexport default ${adapt}(own.default ?? own);\n`;
}

function isDirectory(file) {
  return fs.statSync(file, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
