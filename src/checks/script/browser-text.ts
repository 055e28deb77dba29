import { type Failure, failure } from '../contract/failure.ts';
import { browserTroubleIn, isBrowserAftermath } from '../foreign-texts/playwright.ts';

/** What our reporters say of a test or a run that ended while the browser was starting (sandbox/program/launches.cjs). */
const hanging = /\bthe browser (?<why>had not started after \d+ ms)/;

/** The failure of a run whose time was over while its browser was starting. */
export function hangingBrowserFailure(messages: readonly string[]): Failure | undefined {
  const [first] = messages.filter((message) => hanging.test(message));
  return first === undefined ? undefined : browserFailure([first]);
}

/**
 * The failure of a run whose every error is that a browser is missing here or does not start: that is the agent's,
 * whatever the target does. Undefined where anything else went wrong, too.
 */
export function browserFailure(messages: readonly string[]): Failure | undefined {
  const whys = messages.filter((message) => !isBrowserAftermath(message)).map(whyOf);
  const [first] = whys;
  if (first === undefined || whys.some((why) => why === undefined)) return undefined;
  return failure('BROWSER_MISSING', [...new Set(whys)].join(' '));
}

function whyOf(message: string): string | undefined {
  const { path, channel, why } = browserTroubleIn(message) ?? {};
  if (channel !== undefined) {
    return `This agent has no browser "${channel}": only its own Chromium can be opened here. Leave out \`channel\`, or set CHROMIUM_PATH of the agent to that browser.`;
  }
  if (path?.includes('ffmpeg')) {
    return `This agent has no ffmpeg for Playwright at ${path}, which videos need. Install it with "npm run runtimes:install", or turn videos off.`;
  }
  if (path !== undefined) {
    const name = /(firefox|webkit)/.exec(path)?.[1];
    return name === undefined
      ? `There is no browser at ${path} on this agent: only its own Chromium can be opened here.`
      : `This agent has no ${name}: only Chromium can be opened here. Leave out the projects of ${name}, or run them elsewhere.`;
  }
  const late = hanging.exec(message)?.groups?.why;
  const reason = late === undefined ? why : `it ${late}`;
  return reason === undefined
    ? undefined
    : `The browser of this agent does not start: ${reason}. "picket doctor" on its host examines it; CHROMIUM_PATH names another one.`;
}
