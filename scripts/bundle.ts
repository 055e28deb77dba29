/**
 * Bundles the program: `node scripts/bundle.ts full|uptime FOLDER [MORE…]`. Each thread and each command becomes one
 * file with its dependencies; from few files a process starts in half the time and takes less memory. All files are in
 * FOLDER, so that threads are found next to the file that starts them, as in the sources.
 *
 * `uptime` is an agent alone, with all its packages except those with native code. `full` contains every command; the
 * packages that an agent or a service loads at start are bundled, the others stay packages. Commands and the threads
 * that start with them are scripts, which `compile.mjs` can compile ahead. MORE are further entries that share the
 * modules: preloads of tests.
 */
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { type OutputOptions, type Plugin, rolldown } from 'rolldown';
import { besideFullBundle, native } from './bundle/kinds.ts';

const root = join(import.meta.dirname, '..');
const [kind, folder, ...more] = process.argv.slice(2);
if ((kind !== 'full' && kind !== 'uptime') || folder === undefined) {
  console.error('usage: node scripts/bundle.ts full|uptime FOLDER [MORE...]');
  process.exit(2);
}

const kinds = {
  full: {
    commands: { cli: 'src/cli.ts', 'health-probe': 'src/cli/health-probe.ts' },
    threadsOf: '*',
    scripts: ['cli', 'probe-worker', 'spool-worker', 'kernel-worker', 'template-worker'],
    external: besideFullBundle(),
  },
  uptime: {
    commands: { agent: 'src/cli/agent-only.ts', 'health-probe': 'src/cli/health-probe.ts' },
    threadsOf: '{agent,checks,lib,probes,sandbox}',
    scripts: ['agent', 'probe-worker', 'spool-worker', 'kernel-worker'],
    external: native,
  },
};
const { commands, threadsOf, scripts, external } = kinds[kind];
const preloads = Object.fromEntries(more.map((file) => [basename(file, extname(file)), file]));
const isScript = ([name]: readonly [string, string]) => scripts.includes(name) || name in preloads;
const entries = Object.entries({ ...commands, ...threads(threadsOf), ...preloads });
await write(Object.fromEntries(entries.filter((entry) => !isScript(entry))), {
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: 'part-[name]-[hash].js',
});
const scriptEntries = entries.filter(isScript);
if (scriptEntries.length > 0) {
  await write(Object.fromEntries(scriptEntries), {
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: 'part-[name]-[hash].cjs',
    dynamicImportInCjs: false,
    // The wrapper of a CommonJS module: script.js calls it.
    postBanner: '(function (exports, require, module, __filename, __dirname) {',
    postFooter: '})',
  });
}
for (const file of globSync(join(folder, '*.cjs'))) writeFileSync(file, inAscii(readFileSync(file, 'utf8')));
cpSync(join(root, 'scripts/bundle/script-loader.js'), join(folder, 'script-loader.js'));
// Named as in the sources, so that threads are found next to the file that starts them.
for (const [name] of scriptEntries)
  writeFileSync(join(folder, `${name}.js`), `import { run } from './script-loader.js';\nrun('${name}');\n`);
// Programs of sandboxes and browsers are read from separate files.
if (kind === 'full') {
  cpSync(join(root, 'src/sandbox/program'), join(folder, 'program'), { recursive: true });
  cpSync(join(root, 'src/console/assets'), join(folder, 'assets'), { recursive: true });
}

async function write(input: Record<string, string>, output: OutputOptions): Promise<void> {
  const bundle = await rolldown({
    cwd: root,
    platform: 'node',
    input,
    plugins: [partsOfUndici()],
    external: external.map((name) => new RegExp(`^${name}(/|$)`)),
  });
  await bundle.write({
    dir: folder,
    // A text with one other character takes twice the memory, in each thread that loads it.
    charset: 'ascii',
    // Error reports and logs show the names of our functions.
    minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
    ...output,
  });
  await bundle.close();
}

/** Escapes the characters that the bundler leaves, because the raw text of a tagged template would show the escapes. */
function inAscii(code: string): string {
  if (/\bString\.raw`[^`]*[^\p{ASCII}]/u.test(code))
    throw new Error('a raw text has characters other than ASCII');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is all of ASCII
  return code.replaceAll(/[^\x00-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * The parts of undici that we use. Its index loads all of it (fetch, WebSocket, caches, mocks), which costs 12 MB in
 * each thread that sends requests, and a tenth of a second.
 */
function partsOfUndici(): Plugin {
  const name = '\0parts-of-undici';
  const from = (file: string) => JSON.stringify(join(root, 'node_modules/undici/lib', file));
  return {
    name: 'parts of undici',
    resolveId: (id) => (id === 'undici' ? name : undefined),
    load: (id) =>
      id === name
        ? [
            `import Dispatcher from ${from('dispatcher/dispatcher.js')};`,
            `import request from ${from('api/api-request.js')};`,
            `import connect from ${from('api/api-connect.js')};`,
            `import Agent from ${from('dispatcher/agent.js')};`,
            `import ProxyAgent from ${from('dispatcher/proxy-agent.js')};`,
            // The second one opens tunnels through proxies.
            'Object.assign(Dispatcher.prototype, { request, connect });',
            'export { Agent, ProxyAgent };',
          ].join('\n')
        : undefined,
  };
}

/** Entries of threads and processes by the name that starts them. */
function threads(folders: string): Record<string, string> {
  const entries: Record<string, string> = {};
  for (const file of globSync(`src/${folders}/**/*.ts`, { cwd: root })) {
    if (file.endsWith('.test.ts')) continue;
    const source = readFileSync(join(root, file), 'utf8');
    for (const [, name = ''] of source.matchAll(/new URL\(`\.\/([\w/-]+)\$\{extname\(/g)) {
      const entry = join(dirname(file), `${name}.ts`);
      if (entries[name] !== undefined) throw new Error(`${entries[name]} and ${entry} would be one file`);
      entries[name] = entry;
    }
  }
  return entries;
}
