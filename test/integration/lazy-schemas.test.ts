import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { programEnvironment } from '../helpers/program.ts';

const root = join(import.meta.dirname, '../..');
const urlOf = (file: string) => pathToFileURL(join(root, file)).href;

/** Loading makes about 1,200 and 3,600 schemas; with those of all operations and check types it was 5,000 and 13,000. */
it.each([
  ['an agent', 'src/agent/main.ts', 1_600],
  ['a service', 'src/server/main.ts', 5_000],
])('%s makes most schemas when it first uses them', async (_name, file, most) => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', urlOf('test/helpers/count-schemas.mjs'), '-e', ''],
    { env: { ...programEnvironment, COUNTED_MODULES: urlOf(file) } },
  );
  expect(Number(stdout)).toBeGreaterThan(100);
  expect(Number(stdout)).toBeLessThan(most);
});
