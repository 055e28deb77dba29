/**
 * Makes few files of many: `node scripts/bundle.ts full|uptime FOLDER [MORE…]`. Each thread and each command is one file with what it
 * needs; a process starts in half the time from few files and takes less memory. All of them lie in FOLDER, so that threads are
 * found next to the file that starts them, as in the sources.
 *
 * `uptime` is an agent alone, with all the packages it needs but those with native code; it and the threads that start with it are
 * scripts, which `compile.mjs` can compile ahead. `full` is every command; there the
 * packages that an agent or a service loads when it starts are part of the files, the others stay packages. MORE are further
 * entries, which share their modules: what tests preload.
 */
import { cpSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { type OutputOptions, type Plugin, rolldown } from 'rolldown';

const root = join(import.meta.dirname, '..');
const [kind, folder, ...more] = process.argv.slice(2);
if ((kind !== 'full' && kind !== 'uptime') || folder === undefined) {
  console.error('usage: node scripts/bundle.ts full|uptime FOLDER [MORE...]');
  process.exit(2);
}

const native = ['koffi', 'net-ping', 'raw-socket'];
const loadedAtStart = [
  '@zip.js/zip.js',
  'commander',
  'dns-packet',
  'entities',
  'fastify',
  'handlebars',
  'hono',
  'ipaddr.js',
  'json-p3',
  'kysely',
  'mqtt-packet',
  'nodemailer',
  'openid-client',
  'p-queue',
  'pg',
  'pino',
  'prom-client',
  'semver',
  'tar-stream',
  'temporal-polyfill',
  'undici',
  'ws',
  'yaml',
  'zod',
];
const kinds = {
  full: {
    commands: { cli: 'src/cli.ts', 'health-probe': 'src/cli/health-probe.ts' },
    threadsOf: '*',
    scripts: [],
    external: dependencies().filter((name) => !loadedAtStart.includes(name)),
  },
  uptime: {
    commands: { agent: 'src/cli/agent-only.ts', 'health-probe': 'src/cli/health-probe.ts' },
    threadsOf: '{agent,checks,lib,probes,sandbox}',
    scripts: ['agent', 'probe-worker', 'spool-worker', 'kernel-worker'],
    external: native,
  },
};
const { commands, threadsOf, scripts, external } = kinds[kind];
const isScript = ([name]: readonly [string, string]) => scripts.some((one) => one === name);
const entries = Object.entries({
  ...commands,
  ...threads(threadsOf),
  ...Object.fromEntries(more.map((file) => [basename(file, extname(file)), file])),
});
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
    // What a module of CommonJS finds around it: script.js calls it.
    postBanner: '(function (exports, require, module, __filename, __dirname) {',
    postFooter: '})',
  });
}
// Named as in the sources, so that threads are found next to the file that starts them.
for (const [name] of scriptEntries)
  cpSync(join(root, 'scripts/bundle/script.js'), join(folder, `${name}.js`));
// What runs inside sandboxes and browsers is read from files of its own.
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
    // Error reports and logs name functions of our own.
    minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
    ...output,
  });
  await bundle.close();
}

/** Packages of others that ours need at run time. */
function dependencies(): readonly string[] {
  const manifests = ['package.json', ...globSync('src/{*,extras/*}/package.json', { cwd: root })];
  const names = manifests.flatMap((file) => {
    const manifest: { dependencies?: object } = JSON.parse(readFileSync(join(root, file), 'utf8'));
    return Object.keys(manifest.dependencies ?? {});
  });
  return [...new Set(names)].filter((name) => !name.startsWith('@picket/'));
}

/**
 * What we use of undici. Its index loads all of it (fetch, WebSocket, caches, mocks), which costs 12 MB in each thread that
 * sends requests, and a tenth of a second.
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
            // Tunnels through proxies are opened by the second.
            'Object.assign(Dispatcher.prototype, { request, connect });',
            'export { Agent, ProxyAgent };',
          ].join('\n')
        : undefined,
  };
}

/** Entries of threads and processes by the name they are started with. */
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
