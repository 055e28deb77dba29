/**
 * Reports on descriptor 3 which packages a script would not find. It is copied to a run's folder and runs there, as a
 * script would, with `packages.json` in the same folder: name, version and import specifier. The last line is "done".
 */
import { existsSync, readFileSync, realpathSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = import.meta.dirname;
const require = createRequire(import.meta.url);
const say = (line) => writeSync(3, `${line}\n`);

for (const [name, version, entry] of JSON.parse(readFileSync(join(folder, 'packages.json'), 'utf8'))) {
  try {
    const manifest = join(folder, 'node_modules', name, 'package.json');
    const installed = JSON.parse(readFileSync(manifest, 'utf8')).version;
    if (installed !== version) say(`${name} is ${installed}, not ${version}`);
    if (!existsSync(require.resolve(entry))) say(`${name} has no entry for require`);
    const imported = fileURLToPath(import.meta.resolve(entry));
    const home = realpathSync(join(folder, 'node_modules', name));
    if (!realpathSync(imported).startsWith(home)) say(`${name} is imported from elsewhere: ${imported}`);
  } catch (error) {
    say(`${name}: ${String(error.message).split('\n')[0]}`);
  }
}
say('done');
