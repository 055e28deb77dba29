/**
 * Makes one file of each thread of an agent, with what it needs of the packages: `node scripts/bundle-uptime.ts FOLDER`. An agent
 * starts in half the time from few files and takes less memory. All of them lie in one folder, so that threads are found beside
 * the file that starts them, as in the sources. Packages with native code stay packages.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { rolldown } from 'rolldown';

const root = join(import.meta.dirname, '..');
const folder = process.argv[2];
if (folder === undefined) throw new Error('usage: node scripts/bundle-uptime.ts FOLDER');

const bundle = await rolldown({
  cwd: root,
  platform: 'node',
  input: { agent: 'src/cli/agent-only.ts', 'health-probe': 'src/cli/health-probe.ts', ...threads() },
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
