import { access, constants } from 'node:fs/promises';
import type { Runtimes } from '../runtimes/runtimes.ts';
import type { ScriptHost } from '../script-host.ts';
import { buildBrowserFarm } from './browser-farm.ts';
import { BrowserMissing, findBrowser } from './find-browser.ts';

const systemFfmpeg = '/usr/bin/ffmpeg';

/**
 * Finds the browser of this host and makes it usable for the scripts of all its runtimes; with ffmpeg where it is
 * installed, so that there are videos.
 *
 * @param options.directory where the farm of links is made; scripts must be able to read it.
 * @param options.chromiumPath the setting CHROMIUM_PATH.
 * @param options.unpackedPath see unpacked-chromium.ts.
 */
export async function openBrowsers(options: {
  readonly directory: string;
  readonly runtimes: Runtimes;
  readonly chromiumPath?: string | undefined;
  readonly unpackedPath?: string | undefined;
}): Promise<ScriptHost['browser']> {
  const { directory, runtimes } = options;
  try {
    const browser = await findBrowser(options);
    const installed = runtimes.ids.flatMap((id) => runtimes.find(id) ?? []);
    const ffmpegPath = (await isProgram(systemFfmpeg)) ? systemFfmpeg : undefined;
    return await buildBrowserFarm({ directory, browser, ffmpegPath, runtimes: installed });
  } catch (thrown) {
    if (thrown instanceof BrowserMissing) return { missing: thrown.message };
    throw thrown;
  }
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw thrown;
  }
}
