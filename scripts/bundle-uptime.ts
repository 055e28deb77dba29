/**
 * Makes one file of each thread of an agent, with what it needs of the packages: `node scripts/bundle-uptime.ts FOLDER`. An agent
 * starts in half the time from few files and takes less memory. All of them lie in one folder, so that they find each other
 * beside themselves as their sources do. Packages with native code stay packages.
 */
import { join } from 'node:path';
import { rolldown } from 'rolldown';

const root = join(import.meta.dirname, '..');
const folder = process.argv[2];
if (folder === undefined) throw new Error('usage: node scripts/bundle-uptime.ts FOLDER');

const bundle = await rolldown({
  cwd: root,
  platform: 'node',
  input: {
    agent: 'src/agent-only.ts',
    'probe-worker': 'src/agent/probe-worker.ts',
    'kernel-worker': 'src/probes/kernel-thread/kernel-worker.ts',
    'net-ping-main': 'src/probes/icmp/net-ping-main.ts',
    'health-probe': 'src/health-probe.ts',
  },
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
