import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { failure } from '../../../src/checks/contract/failure.ts';
import type { LeasedRun, ResultReport } from '../../../src/protocol/agent/agent.ts';
import { findBrowser } from '../../../src/sandbox/browsers/find-browser.ts';
import { Sessions } from '../../../src/service/logins/sessions.ts';
import { freePort } from '../free-port.ts';
import { ManualClock } from '../manual-clock.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  reportOf,
  type ServiceHarness,
  TestAgent,
  type TestLocation,
  until,
} from '../service/service.ts';

/** A service with checks in every state, and one browser for all tests of pages. */
export class ConsoleStage {
  readonly harness: ServiceHarness;
  readonly url: string;
  readonly clock: ManualClock;
  readonly browser: Browser;
  readonly agent: TestAgent;
  readonly location: TestLocation;
  /** Ids of checks by name. */
  readonly checks = new Map<string, string>();

  private constructor(parts: {
    harness: ServiceHarness;
    url: string;
    clock: ManualClock;
    browser: Browser;
    location: TestLocation;
  }) {
    this.harness = parts.harness;
    this.url = parts.url;
    this.clock = parts.clock;
    this.browser = parts.browser;
    this.location = parts.location;
    this.agent = new TestAgent(parts.harness, parts.location);
  }

  /** @param artifactsHost the host name that serves files of runs, while 127.0.0.1 serves the pages. */
  static async open({ artifactsHost }: { readonly artifactsHost?: string } = {}): Promise<ConsoleStage> {
    const clock = new ManualClock(Date.UTC(2026, 10, 22, 12));
    const port = artifactsHost === undefined ? 0 : await freePort();
    const harness = await openHarness({
      clock,
      ...(artifactsHost === undefined ? {} : { artifactsUrl: `http://${artifactsHost}:${port}` }),
    });
    const location = await createLocation(harness, 'lab');
    await createLocation(harness, 'empty');
    const url = await harness.app.listen({ port, host: '127.0.0.1' });
    const { executablePath } = await findBrowser({ unpackedPath: undefined });
    const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
    return new ConsoleStage({ harness, url, clock, browser, location });
  }

  async addCheck(name: string, fields: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const { id } = await createCheck(this.harness, {
      name,
      privateLocations: ['lab'],
      retryStrategy: null,
      doubleCheck: false,
      ...fields,
    });
    this.checks.set(name, id);
    return id;
  }

  /** Lets one more slot of every check become due, and reports `outcomeOf` for each leased run. */
  async runOnce(outcomeOf: (name: string, run: LeasedRun) => Partial<ResultReport>): Promise<void> {
    const { harness, clock } = this;
    harness.startScheduler();
    harness.startLeaseSweep();
    const names = new Map([...this.checks].map(([name, id]) => [id, name]));
    const waiting = new Set((await this.#measured()).map(({ id }) => id));
    clock.advance(60_000);
    await until('every check of the lab has run', async () => {
      const runs = await this.agent.claim({ checkTypes: ['API', 'URL', 'TRACEROUTE'] });
      if (runs.length > 0) {
        await this.agent.report(
          runs.map((run) => reportOf(run, outcomeOf(names.get(run.check.id) ?? '', run))),
        );
        for (const { check } of runs) waiting.delete(check.id);
      } else clock.advance(20);
      return waiting.size === 0;
    });
  }

  async #measured(): Promise<{ id: string }[]> {
    const checks = [...(await this.harness.store.checks.findMany([...this.checks.values()])).values()];
    return checks.filter(({ definition }) => (definition.privateLocations as string[]).includes('lab'));
  }

  /** A browser window that is logged in, and records everything that went wrong in it. */
  async visit(options: Parameters<Browser['newContext']>[0] = {}): Promise<Window> {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    const page = await context.newPage();
    const window = new Window(this.url, context, page);
    await window.watch();
    const session = await new Sessions(this.harness.store, this.clock).open(this.harness.key);
    if (!session) throw new Error('the key of the account was refused');
    await context.addCookies([{ name: 'picket-session', value: session.token, url: this.url }]);
    await page.goto(`${this.url}/`);
    return window;
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.harness.close();
  }
}

export class Window implements AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Console errors, reports of the Content-Security-Policy, dialogs, requests to other origins. */
  readonly complaints: string[] = [];
  readonly #url: string;

  constructor(url: string, context: BrowserContext, page: Page) {
    this.#url = url;
    this.context = context;
    this.page = page;
  }

  async watch(): Promise<void> {
    const { page, complaints } = this;
    await page.exposeFunction('reportViolation', (text: string) => complaints.push(`CSP: ${text}`));
    // As text: it runs in the browser, whose types this project does not include.
    await page.addInitScript({
      content: `addEventListener('securitypolicyviolation', (event) =>
        reportViolation(event.violatedDirective + ' ' + event.blockedURI));`,
    });
    page.on('console', (message) => {
      if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) {
        complaints.push(`console: ${message.text()}`);
      }
    });
    page.on('pageerror', (error) => complaints.push(`page error: ${error.message}`));
    page.on('dialog', (dialog) => {
      complaints.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(`${this.#url}/`) && !request.url().startsWith('data:')) {
        complaints.push(`request to ${request.url()}`);
      }
    });
  }

  async go(path: string): Promise<void> {
    await this.page.goto(`${this.#url}${path}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.context.close();
  }
}

/** The failures that pages must explain: the agent's report, and the words that a reader must find. */
export const seededFailures = [
  [
    'DNS',
    failure('NAME_NOT_FOUND', 'getaddrinfo ENOTFOUND shop.invalid'),
    /name does not exist/,
    'the target',
  ],
  [
    'refused',
    failure('CONNECTION_REFUSED', 'connect ECONNREFUSED 192.0.2.7:443'),
    /refused the connection/,
    'the target',
  ],
  [
    'reset',
    failure('CONNECTION_RESET', 'read ECONNRESET'),
    /closed the connection unexpectedly/,
    'the target',
  ],
  [
    'expired',
    failure('TLS_CERTIFICATE_INVALID', 'certificate has expired'),
    /certificate is expired/,
    'the target',
  ],
  [
    'wrong host',
    failure('TLS_CERTIFICATE_INVALID', 'the certificate is for other.test, not for shop.test'),
    /for another name/,
    'the target',
  ],
  [
    'slow',
    failure('RESPONSE_TIMEOUT', 'no answer within 10000 ms'),
    /did not finish its response/,
    'the target',
  ],
  ['503', failure('STATUS_UNEXPECTED', 'Unexpected status 503'), /Unexpected status 503/, 'the target'],
  [
    'assertion',
    failure('ASSERTION_FAILED', '$.paid is false, expected true'),
    /\$\.paid is false/,
    'the target',
  ],
  [
    'resolver',
    failure('RESOLVER_FAILED', 'queryA ESERVFAIL shop.test'),
    /resolver of this location/,
    'the location, not the target',
  ],
  [
    'starved',
    failure('AGENT_STARVED', 'the agent had no processor time for 4200 ms'),
    /no processor time/,
    'agent, not the target',
  ],
] as const;
