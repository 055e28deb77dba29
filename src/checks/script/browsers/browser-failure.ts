import type { ReportedError } from '@picket/sandbox/scripts/events.ts';
import { type Failure, failure } from '../../contract/failure.ts';
import { browserTroubleIn, isBrowserAftermath } from '../../foreign-texts/playwright.ts';

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

/**
 * Returns the failure of a run with no other errors than a missing browser that its check does not name: the definition
 * is at fault. Undefined if there are other errors, too.
 *
 * @param named the browsers that the check names.
 */
export function unnamedBrowserFailure(
  errors: readonly BrowserError[],
  named: readonly string[],
): Failure | undefined {
  const opened = errors.filter(({ message }) => !isBrowserAftermath(message)).map(openedIn);
  const unnamed = opened.filter((name) => name !== undefined && !named.includes(name));
  if (opened.length === 0 || unnamed.length < opened.length) return undefined;
  const names = [...new Set(unnamed)].join(' and ');
  return failure(
    'SCRIPT_INVALID',
    `The script opens ${names}, and its check does not: add ${names} to "browsers" (${named.join(', ')} now).`,
  );
}

/** The browser that was missing. */
function openedIn({ message }: BrowserError): string | undefined {
  const { program, channel } = browserTroubleIn(message) ?? {};
  return channel ?? (program === 'ffmpeg' ? undefined : program);
}

function whyOf({ message, launchMs }: BrowserError): string | undefined {
  if (launchMs !== undefined) return notStarting(`it had not started after ${launchMs} ms`);
  const { path, program, channel, why, lacksLibraries } = browserTroubleIn(message) ?? {};
  if (lacksLibraries) {
    return 'A browser of this agent lacks libraries of its host: "picket browsers install firefox webkit --with-deps" there installs them.';
  }
  if (channel !== undefined) {
    return `This agent has no browser "${channel}": its host lacks the package of the maker. Install it, or leave out \`channel\`.`;
  }
  if (program === 'ffmpeg') {
    return `This agent has no ffmpeg for Playwright at ${path}, which videos need. Install it with "npm run runtimes:install", or turn videos off.`;
  }
  if (program !== undefined) {
    return `This agent has no ${program}: a check that opens it names it in "browsers", and the agent needs it installed ("picket browsers list").`;
  }
  if (path !== undefined) {
    return `There is no browser at ${path} on this agent: it can only open its own Chromium.`;
  }
  return why === undefined ? undefined : notStarting(why);
}

function notStarting(why: string): string {
  return `The browser of this agent does not start: ${why.replace(/\.$/, '')}. Run "picket doctor" on its host; CHROMIUM_PATH selects a different browser.`;
}
