import { access, constants } from 'node:fs/promises';
import { errorCodeOf } from '@picket/lib/errors.ts';
import type { Runtimes } from '../runtimes/runtimes.ts';
import { type BrowserLinks, linkBrowsers } from './browser-links.ts';
import { BrowserMissing, findBrowser } from './find-browser.ts';

/** The browsers that scripts can open, or the reason why none is available. */
export type Browsers =
  | BrowserLinks
  | {
      readonly missing: string;
      /** The browser is installed but does not start. */
      readonly isBroken?: true;
    };

const systemFfmpeg = '/usr/bin/ffmpeg';

/**
 * Finds the browser of this host and links it for the scripts of all runtimes. Videos need ffmpeg, which is used if
 * installed.
 *
 * @param options.directory folder for the links; scripts must be able to read it.
 * @param options.chromiumPath the setting CHROMIUM_PATH.
 * @param options.unpackedPath see unpacked-chromium.ts.
 */
export async function openBrowsers(options: {
  readonly directory: string;
  readonly runtimes: Runtimes;
  readonly chromiumPath?: string | undefined;
  readonly unpackedPath?: string | undefined;
  /** See browser-login.ts. */
  readonly loginServers?: readonly string[] | undefined;
}): Promise<Browsers> {
  const { directory, runtimes, loginServers } = options;
  try {
    const browser = await findBrowser(options);
    const installed = runtimes.ids.flatMap((id) => runtimes.find(id) ?? []);
    const ffmpegPath = (await isExecutable(systemFfmpeg)) ? systemFfmpeg : undefined;
    return await linkBrowsers({ directory, browser, loginServers, ffmpegPath, runtimes: installed });
  } catch (thrown) {
    if (thrown instanceof BrowserMissing) return { missing: thrown.message };
    throw thrown;
  }
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch (thrown) {
    if (errorCodeOf(thrown) === 'ENOENT') return false;
    throw thrown;
  }
}
