import type { ReportedError } from '@picket/sandbox/scripts/events.ts';
import { type Failure, failure } from '../contract/failure.ts';
import { browserTroubleIn, isBrowserAftermath } from '../foreign-texts/playwright.ts';

type BrowserError = Pick<ReportedError, 'message' | 'launchMs'>;

/** Returns the failure of a run that timed out while its browser was starting. */
export function hangingBrowserFailure(errors: readonly BrowserError[]): Failure | undefined {
  const [first] = errors.filter(({ launchMs }) => launchMs !== undefined);
  return first && browserFailure([first]);
}

/**
 * Returns the failure of a run with no other errors than a missing browser or one that does not start: the agent is at
 * fault, whatever the target does. Undefined if there are other errors, too.
 */
export function browserFailure(errors: readonly BrowserError[]): Failure | undefined {
  const whys = errors.filter(({ message }) => !isBrowserAftermath(message)).map(whyOf);
  const [first] = whys;
  if (first === undefined || whys.some((why) => why === undefined)) return undefined;
  return failure('BROWSER_MISSING', [...new Set(whys)].join(' '));
}

function whyOf({ message, launchMs }: BrowserError): string | undefined {
  if (launchMs !== undefined) return notStarting(`it had not started after ${launchMs} ms`);
  const { path, program, channel, why } = browserTroubleIn(message) ?? {};
  if (channel !== undefined) {
    return `This agent has no browser "${channel}": it can only open its own Chromium. Leave out \`channel\`, or set CHROMIUM_PATH of the agent to that browser.`;
  }
  if (program === 'ffmpeg') {
    return `This agent has no ffmpeg for Playwright at ${path}, which videos need. Install it with "npm run runtimes:install", or turn videos off.`;
  }
  if (program !== undefined) {
    return `This agent has no ${program}: it can only open Chromium. Leave out the projects of ${program}, or run them elsewhere.`;
  }
  if (path !== undefined) {
    return `There is no browser at ${path} on this agent: it can only open its own Chromium.`;
  }
  return why === undefined ? undefined : notStarting(why);
}

function notStarting(why: string): string {
  return `The browser of this agent does not start: ${why}. Run "picket doctor" on its host; CHROMIUM_PATH selects a different browser.`;
}
