/** What Playwright's error says that a script waited for. */
export type ScriptProblem = 'navigation-timeout' | 'locator' | 'assertion' | 'thrown' | 'test-timeout';

export function scriptProblemIn(message: string): ScriptProblem {
  if (/\b(?:goto|waitForURL|waitForNavigation|reload): Timeout/.test(message)) return 'navigation-timeout';
  if (/waiting for (?:locator|getBy|frameLocator|selector)/.test(message)) return 'locator';
  if (/\bexpect\(/.test(message)) return 'assertion';
  if (/Test timeout of \d+ ?ms exceeded/.test(message)) return 'test-timeout';
  return 'thrown';
}

/** `locator('#buy')` of a call log or of an expectation. */
export function locatorIn(message: string): string | null {
  const waited = /waiting for ((?:locator|getBy|frameLocator)[^\n]{1,200})/.exec(message)?.[1];
  return waited?.replace(/ to be \w+$/, '') ?? /^Locator: +(.+)$/m.exec(message)?.[1] ?? null;
}

/** What an expectation wanted, and what it found. */
export function expectationIn(message: string): {
  readonly expected: string | null;
  readonly received: string | null;
} {
  return {
    expected: /^Expected(?: \w+)?: +(.+)$/m.exec(message)?.[1] ?? null,
    received: /^Received(?: \w+)?: +(.+)$/m.exec(message)?.[1] ?? null,
  };
}

/** Where a page or a request went: `… at https://…`, or `→ GET https://…` in the log of a call. */
export function urlIn(message: string): string | null {
  return (
    /\bat ((?:https?|wss?):\/\/[^\s"')]+)/.exec(message)?.[1] ??
    /(?:→ [A-Z]+ |navigating to ")((?:https?):\/\/[^\s"]+)/.exec(message)?.[1] ??
    null
  );
}

/** What it says where a browser, or a program that belongs to it, is not there. */
const missing =
  /\b(?:browser\w*|electron)\.\w+: (?:Executable doesn't exist at (?<path>\S+)|[Cc]hromium distribution '(?<channel>[\w-]+)' is not found)/;
/** What it says where the browser is there and does not come up. */
const broken =
  /\bbrowserType\.launch\w*: (?<why>Failed to launch[^\n]*|Timeout \d+ms exceeded[^\n]*|Target page, context or browser has been closed[^\n]*|spawn [^\n]*)/;
/** What follows from such a browser: Playwright waits for it when the worker ends. */
const aftermath = /\bWorker teardown timeout of \d+ms exceeded/;

/** Why a browser did not come up. */
export interface BrowserTrouble {
  /** The file that is not there. */
  readonly path: string | undefined;
  /** What that file is a part of, by its path. */
  readonly program: 'firefox' | 'webkit' | 'ffmpeg' | undefined;
  /** The browser of another name that is not there. */
  readonly channel: string | undefined;
  /** Why the browser that is there does not start. */
  readonly why: string | undefined;
}

export function browserTroubleIn(message: string): BrowserTrouble | undefined {
  const { path, channel } = missing.exec(message)?.groups ?? {};
  const why = broken.exec(message)?.groups?.why?.trim();
  const program = (['ffmpeg', 'firefox', 'webkit'] as const).find((name) => path?.includes(name));
  return (path ?? channel ?? why) ? { path, program, channel, why } : undefined;
}

export function isBrowserAftermath(message: string): boolean {
  return aftermath.test(message);
}
