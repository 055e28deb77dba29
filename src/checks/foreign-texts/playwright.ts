/** Kind of failure that Playwright's error message shows. */
export type ScriptProblem = 'navigation-timeout' | 'locator' | 'assertion' | 'thrown' | 'test-timeout';

export function scriptProblemIn(message: string): ScriptProblem {
  if (/\b(?:goto|waitForURL|waitForNavigation|reload): Timeout/.test(message)) return 'navigation-timeout';
  if (/waiting for (?:locator|getBy|frameLocator|selector)/.test(message)) return 'locator';
  if (/\bexpect\(/.test(message)) return 'assertion';
  if (/Test timeout of \d+ ?ms exceeded/.test(message)) return 'test-timeout';
  return 'thrown';
}

/** Returns the `locator('#buy')` in a call log or an expectation. */
export function locatorIn(message: string): string | null {
  const waited = /waiting for ((?:locator|getBy|frameLocator)[^\n]{1,200})/.exec(message)?.[1];
  return waited?.replace(/ to be \w+$/, '') ?? /^Locator: +(.+)$/m.exec(message)?.[1] ?? null;
}

/** Returns the expected and the received value of an expectation. */
export function expectationIn(message: string): {
  readonly expected: string | null;
  readonly received: string | null;
} {
  return {
    expected: /^Expected(?: \w+)?: +(.+)$/m.exec(message)?.[1] ?? null,
    received: /^Received(?: \w+)?: +(.+)$/m.exec(message)?.[1] ?? null,
  };
}

/** Returns the URL of a page or request: `… at https://…`, or `→ GET https://…` in a call log. */
export function urlIn(message: string): string | null {
  return (
    /\bat ((?:https?|wss?):\/\/[^\s"')]+)/.exec(message)?.[1] ??
    /(?:→ [A-Z]+ |navigating to ")((?:https?):\/\/[^\s"]+)/.exec(message)?.[1] ??
    null
  );
}

/** Messages about a missing browser, or a missing program of it. */
const missing =
  /\b(?:browser\w*|electron)\.\w+: (?:Executable doesn't exist at (?<path>\S+)|[Cc]hromium distribution '(?<channel>[\w-]+)' is not found)/;
/** Messages about an installed browser that does not start. */
const broken =
  /\bbrowserType\.launch\w*: (?<why>Failed to launch[^\n]*|Timeout \d+ms exceeded[^\n]*|Target page, context or browser has been closed[^\n]*|spawn [^\n]*)/;
/** The same, where libraries of the host are missing: a box around several lines. */
const withoutLibraries = /\bbrowserType\.launch\w*: [^\w]*Host system is missing dependencies/;
/** Consequence of such a browser: Playwright waits for it when the worker ends. */
const aftermath = /\bWorker teardown timeout of \d+ms exceeded/;

/** Why a browser did not start. */
export interface BrowserTrouble {
  /** Path of the missing file. */
  readonly path: string | undefined;
  /** The browser or program that the file belongs to, by its path. */
  readonly program: 'chromium' | 'firefox' | 'webkit' | 'ffmpeg' | undefined;
  /** The missing branded browser. */
  readonly channel: string | undefined;
  /** Why the installed browser does not start. */
  readonly why: string | undefined;
  readonly lacksLibraries: boolean;
}

export function browserTroubleIn(message: string): BrowserTrouble | undefined {
  const { path, channel } = missing.exec(message)?.groups ?? {};
  const why = broken.exec(message)?.groups?.why?.trim();
  const lacksLibraries = withoutLibraries.test(message);
  const program = programAt(path ?? '');
  const isTrouble = lacksLibraries || (path ?? channel ?? why) !== undefined;
  return isTrouble ? { path, program, channel, why, lacksLibraries } : undefined;
}

/** The program of a path in a folder of Playwright's downloads. */
function programAt(path: string): BrowserTrouble['program'] {
  if (/\/chromium(?:_headless_shell)?-\d+\//.test(path)) return 'chromium';
  return (['ffmpeg', 'firefox', 'webkit'] as const).find((name) => path.includes(name));
}

export function isBrowserAftermath(message: string): boolean {
  return aftermath.test(message);
}
