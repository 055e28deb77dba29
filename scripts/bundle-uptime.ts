/**
 * Makes one file of each thread of an agent, with what it needs of the packages: `node scripts/bundle-uptime.ts FOLDER`. An agent
 * starts in half the time from few files and takes less memory. All of them lie in one folder, so that threads are found beside
 * the file that starts them, as in the sources. Packages with native code stay packages.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Plugin, rolldown } from 'rolldown';

const root = join(import.meta.dirname, '..');
const folder = process.argv[2];
if (folder === undefined) throw new Error('usage: node scripts/bundle-uptime.ts FOLDER');

const bundle = await rolldown({
  cwd: root,
  platform: 'node',
  input: { agent: 'src/cli/agent-only.ts', 'health-probe': 'src/cli/health-probe.ts', ...threads() },
  plugins: [partsOfUndici()],
  external: ['koffi', 'net-ping', 'raw-socket'],
});
await bundle.write({
  dir: folder,
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: 'part-[name]-[hash].js',
  // Error reports and logs name functions of our own.
  minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
});
await bundle.close();

/**
 * What an agent uses of undici. Its index loads all of it (fetch, WebSocket, caches, mocks), which costs 12 MB in each thread that
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
            `import Agent from ${from('dispatcher/agent.js')};`,
            `import Client from ${from('dispatcher/client.js')};`,
            `import ProxyAgent from ${from('dispatcher/proxy-agent.js')};`,
            'Dispatcher.prototype.request = request;',
            'export { Agent, Client, ProxyAgent };',
          ].join('\n')
        : undefined,
  };
}

/** Entries of threads and processes by the name they are started with; those of the service are left out. */
function threads(): Record<string, string> {
  const entries: Record<string, string> = {};
  for (const file of globSync('src/{agent,checks,lib,probes,sandbox}/**/*.ts', { cwd: root })) {
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
