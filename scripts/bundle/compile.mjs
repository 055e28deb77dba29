// Compiles the scripts in a folder that `scripts/bundle.ts uptime` has written: `node compile.mjs FOLDER`, with the Node that will run
// them, on the architecture that will.
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { Script } from 'node:vm';

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error('usage: node compile.mjs FOLDER');
  process.exit(2);
}
for (const file of globSync(join(folder, '*.cjs'))) {
  // All functions, those too that V8 would compile when they are called first.
  setFlagsFromString('--no-lazy');
  const script = new Script(readFileSync(file, 'utf8'), { filename: file });
  // V8 takes what was compiled only where all flags are the same as now.
  setFlagsFromString('--lazy');
  writeFileSync(`${file}.compiled`, script.createCachedData());
}
