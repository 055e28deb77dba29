import type { BrowserLinks } from '../browsers/browser-links.ts';
import { openPageSession } from '../pages/page-session.ts';
import { SandboxUnavailable } from '../sandbox.ts';
import type { ScriptProcess } from '../scripts/script-process.ts';
import type { ScriptTrust } from '../trust/script-trust.ts';

/** A browser that takes longer than this to open a page counts as not starting. */
const trialMs = 30_000;
const maxReasonLength = 200;

/**
 * Starts the browser in a sandbox as runs do, opens a page and ends it again.
 *
 * @param options.start returns a process that waits for a script.
 * @returns a sentence on why the browser does not start; undefined if it does, or if the result is unclear.
 */
export async function whyBrowserFails(options: {
  readonly browser: BrowserLinks;
  readonly trust: ScriptTrust | undefined;
  readonly signal: AbortSignal;
  readonly start: () => Promise<ScriptProcess>;
}): Promise<string | undefined> {
  const { browser, trust, signal } = options;
  let script: ScriptProcess;
  try {
    script = await options.start();
  } catch (thrown) {
    // No process can be started now, which says nothing about the browser.
    if (thrown instanceof SandboxUnavailable) return undefined;
    throw thrown;
  }
  const late = AbortSignal.timeout(trialMs);
  const stop = AbortSignal.any([signal, late]);
  try {
    const session = await openPageSession(script, {
      browser,
      trust,
      origins: [],
      proxyUrl: null,
      signal: stop,
    });
    await session.end();
    const { problem } = session;
    if (problem === undefined || signal.aborted) return undefined;
    const reason = late.aborted ? `it opened no page within ${trialMs / 1000} s` : plain(problem);
    return `The browser of this agent does not start (${browser.executablePath}): ${reason}`;
  } finally {
    void script.sandbox.release();
  }
}

/** The first line, without Playwright's prefixes. */
function plain(problem: string): string {
  const [line = ''] = problem.split('\n');
  return line.replace(/^(?:\w*Error: )?(?:browserType\.\w+: )?/, '').slice(0, maxReasonLength);
}
