// Compiles the scripts in a folder that `scripts/bundle.ts uptime` has written: `node compile.mjs FOLDER`. Use the same
// Node and the same architecture that will run them.
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
  // All functions, including those that V8 would compile on their first call.
  setFlagsFromString('--no-lazy');
  const script = new Script(readFileSync(file, 'utf8'), { filename: file });
  // V8 accepts the compiled code only with the same flags as now.
  setFlagsFromString('--lazy');
  writeFileSync(`${file}.compiled`, script.createCachedData());
}
