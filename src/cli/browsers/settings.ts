import { packagedRuntimes } from '@picket/agent/config.ts';
import { browsersDirectoryOf } from '@picket/sandbox/browsers/other-browsers.ts';

export interface BrowserFolders {
  readonly runtimes: string;
  readonly browsers: string;
}

/** The folders of an agent in this environment: RUNTIMES_DIR and BROWSERS_DIR. */
export function browserFolders(environment: Readonly<Record<string, string | undefined>>): BrowserFolders {
  const runtimes = environment.RUNTIMES_DIR || packagedRuntimes;
  const browsers = browsersDirectoryOf({
    browsersDirectory: environment.BROWSERS_DIR || undefined,
    runtimesDirectory: runtimes,
  });
  return { runtimes, browsers };
}
