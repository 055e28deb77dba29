import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { OtherBrowser } from '../../../src/sandbox/browsers/other-browsers.ts';
import type { Runtime } from '../../../src/sandbox/runtimes/runtimes.ts';

/** Where Playwright starts its builds, below their folders. */
const programs = { firefox: 'firefox/firefox', webkit: 'pw_run.sh' } as const;

/**
 * Stands in for a build of Firefox or WebKit, which only Playwright's servers have: a program at the place of the
 * build that answers Playwright's protocol as far as browsers and contexts go, without pages.
 *
 * @param folder for builds, as BROWSERS_DIR.
 * @returns the browser, and the arguments of its last start.
 */
export async function standInBrowser(
  folder: string,
  name: keyof typeof programs,
  runtime: Runtime,
): Promise<OtherBrowser & { readonly lastArguments: () => Promise<readonly string[]> }> {
  const { browsers } = JSON.parse(
    await readFile(join(runtime.modulesDirectory, 'playwright-core/browsers.json'), 'utf8'),
  );
  const version = browsers.find((one: { readonly name: string }) => one.name === name).revision;
  const path = join(folder, `${name}-${version}`);
  const started = join(folder, `${name}-arguments.json`);
  const program = join(path, programs[name]);
  await mkdir(dirname(program), { recursive: true });
  await writeFile(program, programText(started), { mode: 0o755 });
  // Playwright examines the libraries of the host otherwise.
  for (const marker of ['INSTALLATION_COMPLETE', 'DEPENDENCIES_VALIDATED'])
    await writeFile(join(path, marker), '');
  return { name, version, path, lastArguments: async () => JSON.parse(await readFile(started, 'utf8')) };
}

function programText(started: string): string {
  return `#!${process.execPath}
const fs = require('node:fs');
fs.writeFileSync(${JSON.stringify(started)}, JSON.stringify(process.argv.slice(2)));
const results = {
  'Browser.getInfo': { version: 'Firefox/146.0', userAgent: 'stand-in' },
  'Browser.createBrowserContext': { browserContextId: 'one' },
  'Playwright.createContext': { browserContextId: 'one' },
};
console.log('Juggler listening to the pipe');
let pending = '';
fs.createReadStream(null, { fd: 3, encoding: 'utf8' })
  .on('data', (text) => {
    const messages = (pending + text).split('\\0');
    pending = messages.pop();
    for (const { id, method, browserContextId } of messages.map((one) => JSON.parse(one))) {
      fs.writeSync(4, JSON.stringify({ id, result: results[method] ?? {} }) + '\\0');
      if (/\\.close$/.test(method) && browserContextId === undefined) process.exit(0);
    }
  })
  .on('end', () => process.exit(0));
`;
}
