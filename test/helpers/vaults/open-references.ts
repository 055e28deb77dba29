import { setImmediate } from 'node:timers/promises';
import { readAgentSettings } from '../../../src/agent/config.ts';
import { type RunSecrets, SecretReferences } from '../../../src/agent/references/secret-references.ts';
import { Scrubber } from '../../../src/agent/scrub/scrubber.ts';
import { createLogger } from '../../../src/lib/log.ts';
import { ManualClock } from '../manual-clock.ts';

/** The secrets of an environment, as an agent fetches them, on a clock that the test moves. */
export class OpenReferences implements AsyncDisposable {
  readonly clock = new ManualClock();
  /** Values and credentials that are masked, in order. */
  readonly masked: string[] = [];
  logged = '';
  readonly references: SecretReferences;
  readonly #placeCount: number;

  constructor(environment: Readonly<Record<string, string>>) {
    const access = readAgentSettings({
      API_KEY: 'pl_0123456789',
      SERVICE_URL: 'http://127.0.0.1:1',
      ...environment,
    }).references;
    this.#placeCount = new Set(access.references.map(({ provider, place }) => `${provider}:${place}`)).size;
    const scrubber = new Scrubber([]);
    this.references = new SecretReferences({
      access,
      clock: this.clock,
      epochMs: () => this.clock.wallMs(),
      log: createLogger('test', 'trace', {
        write: (line) => {
          this.logged += line;
        },
      }),
      scrubber: {
        learn: (secrets) => {
          this.masked.push(...secrets);
          scrubber.learn(secrets);
        },
        text: (text) => scrubber.text(text),
      },
    });
    this.references.start();
  }

  /** The secrets as a run gets them. */
  current(): Promise<RunSecrets> {
    return this.references.current();
  }

  /** Moves the clock, and waits until every fetch that is due has ended. */
  async pass(ms: number): Promise<void> {
    await this.#settled();
    this.clock.advance(ms);
    await this.#settled();
  }

  async #settled(): Promise<void> {
    while (this.clock.sleeperCount < this.#placeCount) await setImmediate();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.references[Symbol.asyncDispose]();
  }
}
