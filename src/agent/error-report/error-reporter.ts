import type { Clock } from '@picket/lib/clock.ts';
import { toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import { LruMap } from '@picket/lib/lru.ts';
import { packageVersion } from '@picket/lib/version.ts';
import { AgentErrorEvent } from '@picket/protocol/agent/agent-error.ts';
import type { NodeClient } from '@sentry/node';
import type { Scrubber } from '../scrub/scrubber.ts';
import { privateFrame } from './private-frame.ts';
import { privateMessage } from './private-message.ts';

/** More than this within a minute is a storm: the service knows the problem by then. */
const maxEventsPerMinute = 10;
/** The same error is not reported again within this time. */
const repeatAfterMs = 10 * 60_000;
const maxRememberedErrors = 200;
const maxCauses = 3;

export interface ErrorReporterOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly scrubber: Scrubber;
  /** Sends an envelope to the service. */
  readonly send: (envelope: string) => Promise<void>;
}

/**
 * Reports errors of the agent itself to the service: message, stack, version, platform and runtime, and nothing else
 * (spec.md "Events"). The SDK parses stacks, builds envelopes and keeps the queue. Fields that it adds beyond the
 * schema of `AgentErrorEvent` are removed before sending, because that schema is what users were promised.
 *
 * A report never does harm: it neither throws nor blocks, and reports that cannot be sent are dropped.
 */
export class ErrorReporter {
  readonly #options: ErrorReporterOptions;
  readonly #lastReportedMs = new LruMap<string, number>(maxRememberedErrors);
  #recentMs: number[] = [];
  #client: Promise<NodeClient> | undefined;
  #droppedCount = 0;

  constructor(options: ErrorReporterOptions) {
    this.#options = options;
  }

  /** Number of reports suppressed or lost. */
  get droppedCount(): number {
    return this.#droppedCount;
  }

  /** Reports an error, unless it is a recent repeat or the rate limit is reached. */
  report(thrown: unknown, level: AgentErrorEvent['level'] = 'error'): void {
    const error = toError(thrown);
    if (!this.#isWelcome(`${error.name} ${error.message.slice(0, 200)} ${firstFrame(error)}`)) {
      this.#droppedCount += 1;
      return;
    }
    // Loaded with the first error: most agents never have one.
    this.#client ??= this.#createClient();
    this.#client.then(
      (client) => client.captureException(error, { captureContext: { level } }),
      (failed: unknown) => this.#lost(failed),
    );
  }

  /** Waits until pending reports are sent, up to `timeoutMs`. */
  async flush(timeoutMs: number): Promise<void> {
    const client = await this.#client?.catch(() => undefined);
    await client?.flush(timeoutMs);
  }

  #isWelcome(fingerprint: string): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    const lastMs = this.#lastReportedMs.get(fingerprint);
    if (lastMs !== undefined && nowMs - lastMs < repeatAfterMs) return false;
    this.#recentMs = this.#recentMs.filter((ms) => nowMs - ms < 60_000);
    if (this.#recentMs.length >= maxEventsPerMinute) return false;
    this.#recentMs.push(nowMs);
    this.#lastReportedMs.set(fingerprint, nowMs);
    return true;
  }

  async #createClient(): Promise<NodeClient> {
    const sentry = await import('@sentry/node');
    return new sentry.NodeClient({
      // Never contacted: the transport below sends through the agent's own connection to the service.
      dsn: 'https://agent@service.invalid/1',
      stackParser: sentry.defaultStackParser,
      // No integrations: they add details of the machine, the process and the requests.
      integrations: [],
      sendClientReports: false,
      release: packageVersion(),
      transport: (options) =>
        sentry.createTransport(options, async ({ body }) => {
          const envelope = this.#onlyPromised(
            typeof body === 'string' ? body : new TextDecoder().decode(body),
          );
          if (envelope === undefined) return {};
          try {
            await this.#options.send(envelope);
            return { statusCode: 200 };
          } catch (thrown) {
            this.#lost(thrown);
            return {};
          }
        }),
    });
  }

  /** Reduces an envelope to one event with only the promised fields; undefined if it holds no event. */
  #onlyPromised(envelope: string): string | undefined {
    const item = envelope.split('\n').find((line) => line.startsWith('{') && line.includes('"exception"'));
    if (item === undefined) return undefined;
    const event = JSON.parse(item) as SdkEvent;
    const allowed: AgentErrorEvent = {
      event_id: event.event_id,
      timestamp: event.timestamp,
      platform: 'node',
      level: event.level === 'fatal' ? 'fatal' : 'error',
      release: packageVersion(),
      contexts: {
        os: { name: `${process.platform}-${process.arch}` },
        runtime: { name: 'node', version: process.versions.node },
      },
      exception: {
        values: event.exception.values.slice(-maxCauses).map(({ type, value, stacktrace }) => ({
          type: /^[\w$.]{1,100}$/.exec(type ?? '')?.[0] ?? 'Error',
          value: privateMessage(this.#options.scrubber.text(value ?? '')),
          stacktrace: { frames: (stacktrace?.frames ?? []).slice(-50).map(privateFrame) },
        })),
      },
    };
    const json = JSON.stringify(AgentErrorEvent.parse(allowed));
    const header = JSON.stringify({ event_id: event.event_id });
    return `${header}\n{"type":"event","content_type":"application/json"}\n${json}\n`;
  }

  #lost(thrown: unknown): void {
    this.#droppedCount += 1;
    this.#options.log.debug({ reason: toError(thrown).name }, 'error report lost');
  }
}

/** The fields of the SDK's event that are read. */
interface SdkEvent {
  readonly event_id: string;
  readonly timestamp: number;
  readonly level?: string;
  readonly exception: {
    readonly values: readonly {
      readonly type?: string;
      readonly value?: string;
      readonly stacktrace?: { readonly frames?: readonly Parameters<typeof privateFrame>[0][] };
    }[];
  };
}

function firstFrame(error: Error): string {
  return error.stack?.split('\n').find((text) => /^\s+at /.test(text)) ?? '';
}
