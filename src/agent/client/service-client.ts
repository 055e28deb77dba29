import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import type { Clock } from '@picket/lib/clock.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import {
  agentRoutes,
  type ClaimRequest,
  ClaimResponse,
  type LeaseRef,
  type ReleaseResponse,
  type RenewResponse,
  type ResultsResponse,
} from '@picket/protocol/agent/agent.ts';
import { agentErrorRoutes } from '@picket/protocol/agent/agent-error.ts';
import {
  type Examination,
  examinationRoutes,
  locationNeedRoutes,
} from '@picket/protocol/agent/agent-examination.ts';
import { liveLogRoutes } from '@picket/protocol/agent/live-log.ts';
import type { Route } from '@picket/protocol/http/route.ts';
import {
  locationEventRoutes,
  type ReportedLocationEvent,
} from '@picket/protocol/locations/location-event.ts';
import { type ArtifactReceipt, artifactRoutes } from '@picket/protocol/results/artifact.ts';
import { z } from 'zod';
import type { LinesOfRun } from '../run/contracts.ts';
import { joinedReports, type ReportTexts } from '../scrub/report-texts.ts';
import { explain, maxAnswerBytes, parseAnswer } from './service-answer.ts';
import type { ServiceClock } from './service-clock.ts';
import { type ServiceAccess, ServiceConnection } from './service-connection.ts';
import {
  kindOfStatus,
  messageOf,
  parseRetryAfter,
  ServiceError,
  type ServiceErrorKind,
} from './service-error.ts';
import type { WholeAnswer } from './whole-exchange.ts';

const maxErrorTextLength = 500;
/** Time limit for a response, in addition to the wait that the request specifies. */
const answerTimeoutMs = 10_000;
/** Uploads may be large and connections slow. */
const uploadTimeoutMs = 30_000;
/** An artifact may take this long as long as its bytes keep moving. */
const artifactTimeoutMs = 25 * 60_000;
const uploadChunkBytes = 256 * 1024;
const errorReportTimeoutMs = 5000;

/**
 * A claim response whose runs are not validated yet: one that this agent does not understand must not spoil the others.
 */
const ClaimAnswer = lazySchema(() => ClaimResponse.schema.extend({ runs: z.array(z.unknown()).max(10_000) }));
export type ClaimAnswer = z.output<typeof ClaimAnswer.schema>;

export interface Identity {
  readonly agentId: string;
  readonly sessionId: string;
}

/** A response, and the interval on the monotonic clock within which it was made. */
export interface Answer<Body> {
  readonly body: Body;
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
}

interface Call<Schema extends z.ZodType> {
  readonly route: Route;
  /** Path with parameters and query; defaults to the path of the route. */
  readonly path?: string;
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly schema: Schema;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The agent protocol over HTTP. Every method resolves with a validated response or rejects with a ServiceError, which
 * says whether and when to retry; this class does not retry. The key is sent in the request header and nowhere else: no
 * error and no log line holds it.
 */
export class ServiceClient {
  readonly #identity: Identity;
  readonly #clock: Clock;
  readonly #serviceClock: ServiceClock;
  readonly #connection: ServiceConnection;
  readonly #onFailed: (kind: ServiceErrorKind) => void;
  readonly #onRefused: () => void;
  readonly #onAnswered: () => void;

  constructor(options: {
    readonly settings: ServiceAccess;
    readonly identity: Identity;
    readonly version: string;
    readonly clock: Clock;
    readonly serviceClock: ServiceClock;
    /** Called after every failed call. */
    readonly onFailed: (kind: ServiceErrorKind) => void;
    /** Called when a call is refused (401, 403), so that the other calls need not find out for themselves. */
    readonly onRefused: () => void;
    /** Called after every successful call. */
    readonly onAnswered: () => void;
  }) {
    this.#identity = options.identity;
    this.#clock = options.clock;
    this.#serviceClock = options.serviceClock;
    this.#onFailed = options.onFailed;
    this.#onRefused = options.onRefused;
    const { settings, version } = options;
    this.#connection = new ServiceConnection(settings, {
      version,
      agentId: options.identity.agentId,
      maxAnswerBytes,
    });
    this.#onAnswered = options.onAnswered;
  }

  /** Requests work; the service waits up to `request.waitMs` for some. */
  claim(
    request: Omit<z.input<typeof ClaimRequest.schema>, 'agentId' | 'sessionId'> & { readonly waitMs: number },
    signal?: AbortSignal,
  ): Promise<Answer<ClaimAnswer>> {
    return this.#call({
      route: agentRoutes.claim,
      body: JSON.stringify({ ...this.#identity, ...request }),
      schema: ClaimAnswer.schema,
      timeoutMs: request.waitMs + answerTimeoutMs,
      signal,
    });
  }

  renew(leases: readonly LeaseRef[], timeoutMs: number): Promise<Answer<RenewResponse>> {
    return this.#call({
      route: agentRoutes.renew,
      body: JSON.stringify({ ...this.#identity, leases }),
      schema: agentRoutes.renew.response,
      timeoutMs,
    });
  }

  release(
    leases: readonly LeaseRef[],
    timeoutMs: number,
    { isLeaving = false }: { readonly isLeaving?: boolean } = {},
  ): Promise<Answer<ReleaseResponse>> {
    return this.#call({
      route: agentRoutes.release,
      body: JSON.stringify({ ...this.#identity, leases, isLeaving }),
      schema: agentRoutes.release.response,
      timeoutMs,
    });
  }

  /** Sends results that are already JSON texts; the response has one receipt for each, in the same order. */
  async report(results: readonly ReportTexts[], signal?: AbortSignal): Promise<Answer<ResultsResponse>> {
    const head = JSON.stringify(this.#identity).slice(0, -1);
    const answer = await this.#call({
      route: agentRoutes.results,
      body: joinedReports(`${head},"results":[`, results, ']}'),
      schema: agentRoutes.results.response,
      timeoutMs: uploadTimeoutMs,
      signal,
    });
    if (answer.body.items.length !== results.length) {
      throw new ServiceError(
        'unreachable',
        `the service answered ${results.length} results with ${answer.body.items.length} receipts`,
      );
    }
    return answer;
  }

  /** Reports when parts of the location were unhealthy. */
  async reportLocationEvents(events: readonly ReportedLocationEvent[], signal: AbortSignal): Promise<void> {
    await this.#call({
      route: locationEventRoutes.reportLocationEvents,
      body: JSON.stringify({ ...this.#identity, events }),
      schema: locationEventRoutes.reportLocationEvents.response,
      timeoutMs: answerTimeoutMs,
      signal,
    });
  }

  /**
   * Sends lines of runs that someone follows; returns those that are still followed. Delivery does not matter, so
   * failures are not counted.
   */
  async sendLiveLog(runs: readonly LinesOfRun[]): Promise<readonly string[]> {
    const { body } = await this.#exchange({
      route: liveLogRoutes.sendLiveLog,
      body: JSON.stringify({ ...this.#identity, runs }),
      schema: liveLogRoutes.sendLiveLog.response,
      timeoutMs: answerTimeoutMs,
    });
    return body.followedRunIds;
  }

  /** Sends the envelope of an error report. Delivery does not matter, so failures are neither counted nor retried. */
  async reportError(envelope: string): Promise<void> {
    const { method, path, bodyContentType } = agentErrorRoutes.reportAgentError;
    const response = await this.#connection.request({
      path: path.replace('{project}', 'agent'),
      method,
      headers: { 'content-type': bodyContentType },
      body: envelope,
      signal: AbortSignal.timeout(errorReportTimeoutMs),
    });
    await response.body.dump();
    if (response.statusCode !== 200) throw new Error(`the service answered ${response.statusCode}`);
  }

  /**
   * Sends an artifact of a run whose result is stored. Fails as `unreachable` if no byte moves for 30 seconds; the
   * total duration is limited separately.
   */
  async putArtifact(
    { runId, leaseNumber }: LeaseRef,
    file: {
      readonly name: string;
      readonly path: string;
      readonly sizeBytes: number;
      readonly sha256: string;
    },
    signal: AbortSignal,
  ): Promise<ArtifactReceipt> {
    const route = artifactRoutes.putArtifact;
    const stalled = new AbortController();
    const stallTimer = setTimeout(() => stalled.abort(), uploadTimeoutMs);
    async function* content() {
      if (file.sizeBytes === 0) return;
      // Never more bytes than announced, in case the file has grown.
      const options = { highWaterMark: uploadChunkBytes, end: file.sizeBytes - 1 };
      for await (const chunk of createReadStream(file.path, options)) {
        stallTimer.refresh();
        yield chunk as Buffer;
      }
      stallTimer.refresh();
    }
    try {
      const { body } = await this.#call({
        route,
        path: `${route.path.replace('{runId}', runId).replace('{name}', encodeURIComponent(file.name))}?leaseNumber=${leaseNumber}`,
        body: content(),
        headers: {
          'content-type': 'application/octet-stream',
          'content-length': String(file.sizeBytes),
          'content-digest': `sha-256=:${Buffer.from(file.sha256, 'hex').toString('base64')}:`,
        },
        schema: route.response,
        timeoutMs: artifactTimeoutMs,
        signal: AbortSignal.any([signal, stalled.signal]),
      });
      return body;
    } catch (thrown) {
      if (!stalled.signal.aborted || signal.aborted) throw thrown;
      throw new ServiceError(
        'unreachable',
        `PUT of an artifact: the connection stalled for ${uploadTimeoutMs} ms`,
      );
    } finally {
      clearTimeout(stallTimer);
    }
  }

  /** Requests the service's view of this agent, with a body of `sizeBytes` random bytes. */
  examine(options: {
    readonly agentVersion: string;
    readonly sizeBytes: number;
    readonly timeoutMs: number;
    readonly signal?: AbortSignal | undefined;
  }): Promise<Answer<Examination>> {
    const { agentVersion, sizeBytes, timeoutMs, signal } = options;
    const route = examinationRoutes.examineConnection;
    return this.#call({
      route,
      path: `${route.path}?agentVersion=${encodeURIComponent(agentVersion)}`,
      body: sizeBytes === 0 ? '' : meaningless(sizeBytes),
      headers: { 'content-type': 'application/octet-stream', 'content-length': String(sizeBytes) },
      schema: route.response,
      timeoutMs,
      signal,
    });
  }

  /** Requests the needs of this location's checks. */
  needs(timeoutMs: number) {
    const { listLocationNeeds: route } = locationNeedRoutes;
    return this.#call({ route, body: '', schema: route.response, timeoutMs });
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  async #call<Schema extends z.ZodType>(call: Call<Schema>): Promise<Answer<z.output<Schema>>> {
    try {
      const answer = await this.#exchange(call);
      this.#onAnswered();
      return answer;
    } catch (thrown) {
      if (thrown instanceof ServiceError && thrown.kind !== 'stopped') this.#onFailed(thrown.kind);
      if (thrown instanceof ServiceError && thrown.kind === 'refused') this.#onRefused();
      throw thrown;
    }
  }

  async #exchange<Schema extends z.ZodType>(call: Call<Schema>): Promise<Answer<z.output<Schema>>> {
    const what = `${call.route.method} ${call.route.path}`;
    const sentAtMs = this.#clock.monotonicMs();
    if (call.signal?.aborted) throw new ServiceError('stopped', `${what} was given up`);
    const exchange = this.#connection.exchange({
      path: call.path ?? call.route.path,
      method: call.route.method,
      headers: call.headers,
      body: isWhole(call.body) ? call.body : Readable.from(call.body, { objectMode: false }),
    });
    let isLate = false;
    // One timer for the whole exchange: a peer that sends a byte now and then must not hold it open for ever.
    const timer = setTimeout(() => {
      isLate = true;
      exchange.stop(new Error('the time is over'));
    }, call.timeoutMs);
    const giveUp = () => exchange.stop(new Error('it was given up'));
    call.signal?.addEventListener('abort', giveUp, { once: true });
    let answer: WholeAnswer;
    try {
      answer = await exchange.answer;
    } catch (thrown) {
      if (call.signal?.aborted) throw new ServiceError('stopped', `${what} was given up`);
      if (isLate) {
        throw new ServiceError('unreachable', `${what}: no response within ${call.timeoutMs} ms`);
      }
      throw new ServiceError('unreachable', `${what}: ${explain(thrown)}`, { cause: thrown });
    } finally {
      clearTimeout(timer);
      call.signal?.removeEventListener('abort', giveUp);
    }
    const { statusCode, headers, text } = answer;
    const receivedAtMs = this.#clock.monotonicMs();
    if (statusCode !== call.route.success.statusCode) throw refusal(what, statusCode, headers, text);
    const body = parseAnswer(call.schema, text, what);
    const { serverTime } = body as { serverTime?: number };
    if (serverTime !== undefined) this.#serviceClock.sample(serverTime, sentAtMs, receivedAtMs);
    return { body, sentAtMs, receivedAtMs };
  }
}

function isWhole(body: Call<z.ZodType>['body']): body is string | Uint8Array {
  return typeof body === 'string' || body instanceof Uint8Array;
}

/** Random bytes, which no proxy can compress. */
async function* meaningless(sizeBytes: number): AsyncGenerator<Buffer> {
  for (let left = sizeBytes; left > 0; left -= uploadChunkBytes) {
    yield randomBytes(Math.min(left, uploadChunkBytes));
  }
}

/** Converts a response without a success status to an error. */
function refusal(
  what: string,
  httpStatus: number,
  headers: WholeAnswer['headers'],
  text: string,
): ServiceError {
  const retryAfterMs = parseRetryAfter(single(headers['retry-after']), single(headers.date));
  const kind = kindOfStatus(httpStatus, retryAfterMs);
  const hint =
    httpStatus >= 300 && httpStatus < 400
      ? ' (redirects are not followed: set SERVICE_URL to the final address)'
      : '';
  const said = messageOf(text);
  const description = said === undefined ? '' : `: ${said.slice(0, maxErrorTextLength)}`;
  return new ServiceError(kind, `${what}: the service answered ${httpStatus}${description}${hint}`, {
    httpStatus,
    retryAfterMs,
    isServiceBody: said !== undefined,
  });
}

const single = (header: string | string[] | undefined) => (Array.isArray(header) ? header[0] : header);
