import { buildFor, isBuild } from '@picket/sandbox/browsers/browser-links.ts';
import type { ScriptHost } from '@picket/sandbox/host/contract.ts';
import type { Runtime } from '@picket/sandbox/runtimes/runtimes.ts';
import type { OpenedBrowsers } from '@picket/sandbox/scripts/script-process.ts';
import { type Failure, failure } from '../../contract/failure.ts';
import { type BrowserName, howToInstall } from '../../tables/browsers.ts';

/**
 * The browsers of this host that a script opens, or the failure of a run that lacks one: never another browser in its
 * place. A build of Firefox or WebKit serves one version of Playwright, and so one runtime.
 */
export async function openedBrowsers(
  names: readonly BrowserName[],
  { otherBrowsers }: Pick<ScriptHost, 'otherBrowsers'>,
  runtime: Runtime,
): Promise<OpenedBrowsers | { readonly failure: Failure }> {
  const wanted = names.filter((name) => name !== 'chromium');
  const absent = wanted.filter((name) => !otherBrowsers.some((one) => one.name === name));
  if (absent.length > 0) {
    const message = `This agent has no ${absent.join(' and no ')}: ${howToInstall(absent)}`;
    return { failure: failure('BROWSER_MISSING', message) };
  }
  const others: (typeof otherBrowsers)[number][] = [];
  for (const name of wanted) {
    const here = otherBrowsers.filter((one) => one.name === name);
    const build = isBuild({ name }) ? await buildFor(runtime, name) : undefined;
    const found = here.find(({ version }) => build === undefined || version === build);
    if (!found) {
      const versions = here.map(({ version }) => version).join(', ');
      const message = `This agent has ${name} ${versions}, and the runtime ${runtime.id} opens ${name} ${build}: ${howToInstall([name])}`;
      return { failure: failure('BROWSER_MISSING', message) };
    }
    others.push(found);
  }
  return { names, others };
}
