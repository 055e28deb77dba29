import { isIP, type LookupFunction } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { errorCodeOf, toError } from '@picket/lib/errors.ts';
import { isSocksUrl } from '@picket/lib/proxy.ts';
import { beginningOf } from '@picket/lib/text.ts';
import type { Connector } from '@picket/probes/outbound/socks-connector.ts';
import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import { z } from 'zod';
import type { ModelAccess, ModelProtocol } from './access.ts';
import { anthropic } from './anthropic.ts';
import { type CountedTokens, countTokens } from './counting.ts';
import { type ModelAnswer, type ModelDialect, ModelError, type ModelQuestion } from './message.ts';
import { ollama } from './ollama.ts';
import { openai } from './openai.ts';
import { costOf, type RunSpending } from './spending.ts';

const dialects: Readonly<Record<ModelProtocol, ModelDialect>> = { openai, anthropic, ollama };
const connectTimeoutMs = 5000;
const maxAnswerBytes = 4 * 1024 * 1024;
/** Most attempts of a request if the provider is busy or fails. */
const maxTries = 3;
const firstPauseMs = 500;
/** A provider that demands a longer pause is not retried. */
const maxPauseMs = 20_000;
/** Longest time that a run waits for one response. */
const maxAnswerMs = 120_000;
const maxShownLength = 300;
/** Errors of a connection that closes after the request was sent. */
const brokenOff: ReadonlySet<string> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);
const trust = { allowPartialTrustChain: true };

interface ModelTokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/**
 * Outcome of a request: with a response, without one, stopped by a limit, or stopped with the run; and the use of all
 * its attempts.
 */
export interface ModelOutcome extends ModelTokens {
  readonly kind: 'answered' | 'failed' | 'limited' | 'stopped';
  /** By the configured prices; 0 without prices. */
  readonly cost: number;
}

/** Egress policy and resolver, as runs have them. */
export interface ModelNetwork {
  readonly egress: {
    refusal(destination: {
      readonly hostname: string;
      readonly address?: string | undefined;
      readonly port?: number | undefined;
    }): { readonly message: string } | undefined;
  };
  readonly resolver: {
    resolve(
      hostname: string,
      family: 'any',
    ): Promise<readonly { readonly address: string; readonly family: 4 | 6 }[]>;
  };
}

/** An attempt with a response. */
interface AnsweredTry {
  readonly answer: ModelAnswer;
  readonly spent: CountedTokens;
}

/** An attempt that failed. */
interface FailedTry {
  readonly message: string;
  readonly status?: number | undefined;
  /** The provider's explanation of that status. */
  readonly refusal?: string | undefined;
  /** How long to wait before the next attempt; undefined if another would fail as well. */
  readonly pauseMs?: number | undefined;
  /** Tokens of a response that cannot be used. */
  readonly spent?: CountedTokens | undefined;
}

/**
 * Sends requests to a model, over connections that respect an egress policy, a proxy and the certificate authorities of
 * the process. Retries with pauses if a provider is busy or fails; counts use at once, and estimates it if the provider
 * does not report it.
 */
export class ModelClient {
  readonly #access: ModelAccess;
  readonly #spending: RunSpending;
  readonly #egress: ModelNetwork['egress'];
  readonly #onOutcome: ((outcome: ModelOutcome) => void) | undefined;
  readonly #dispatcher: Dispatcher;

  constructor(
    access: ModelAccess,
    means: ModelNetwork & {
      readonly spending: RunSpending;
      readonly onOutcome?: ((outcome: ModelOutcome) => void) | undefined;
    },
  ) {
    this.#access = access;
    this.#spending = means.spending;
    this.#egress = means.egress;
    this.#onOutcome = means.onOutcome;
    const options = {
      maxResponseSize: maxAnswerBytes,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: connectTimeoutMs, ...trust, lookup: lookupWith(means, new URL(access.url)) },
    };
    const proxyUrl = access.proxyUrl === undefined ? undefined : new URL(access.proxyUrl);
    if (proxyUrl === undefined) this.#dispatcher = new Agent(options);
    else if (isSocksUrl(proxyUrl)) {
      this.#dispatcher = new Agent({ ...options, connect: socksConnectorFor(proxyUrl) });
    } else {
      this.#dispatcher = new ProxyAgent({
        ...options,
        connect: { timeout: connectTimeoutMs, ...trust },
        uri: proxyUrl.href,
        requestTls: trust,
        proxyTls: trust,
      });
    }
  }

  /** @throws ModelError, and the signal's reason if it aborts. */
  async ask(question: ModelQuestion, signal: AbortSignal): Promise<ModelAnswer> {
    // Failed attempts cost, too.
    const spent = { inputTokens: 0, outputTokens: 0 };
    try {
      const { answer } = await this.#askUntilAnswered(question, spent, signal);
      this.#report('answered', spent);
      return answer;
    } catch (thrown) {
      if (thrown instanceof ModelError) {
        this.#report(thrown.code === 'MODEL_LIMIT_EXCEEDED' ? 'limited' : 'failed', spent);
      } else if (signal.aborted) this.#report('stopped', spent);
      throw thrown;
    }
  }

  #report(kind: ModelOutcome['kind'], spent: ModelTokens): void {
    this.#onOutcome?.({ kind, ...spent, cost: costOf(spent, this.#access.price) });
  }

  /** @param total receives the use of all attempts. */
  async #askUntilAnswered(
    question: ModelQuestion,
    total: { inputTokens: number; outputTokens: number },
    signal: AbortSignal,
  ): Promise<AnsweredTry> {
    for (let tries = 1; ; tries += 1) {
      signal.throwIfAborted();
      const limitMs = Math.min(this.#spending.remainingMs(), maxAnswerMs);
      const startedMs = performance.now();
      const tried = await this.#try(question, limitMs, signal);
      const waitedMs = performance.now() - startedMs;
      const { spent = noTokens } = tried;
      this.#spending.add({ calls: 1, ...spent, waitedMs });
      total.inputTokens += spent.inputTokens;
      total.outputTokens += spent.outputTokens;
      if ('answer' in tried) return tried;
      signal.throwIfAborted();
      if (tried.pauseMs === undefined || tries === maxTries) {
        throw new ModelError('MODEL_UNAVAILABLE', `The model did not respond: ${tried.message}`, tried);
      }
      await delay(tried.pauseMs * tries, undefined, { signal });
    }
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }

  async #try(
    question: ModelQuestion,
    limitMs: number,
    signal: AbortSignal,
  ): Promise<AnsweredTry | FailedTry> {
    const url = new URL(this.#access.url);
    const refusal = this.#refusal(url);
    if (refusal !== undefined) return { message: refusal };
    const dialect = dialects[this.#access.protocol];
    const { path, headers, body } = dialect.request(question, this.#access);
    const sent = JSON.stringify(body);
    const limit = AbortSignal.timeout(Math.ceil(limitMs));
    let status: number;
    let text: string;
    let pause: string | undefined;
    let hasAnswered = false;
    const received: Buffer[] = [];
    const spentWith = (said?: ModelAnswer) =>
      countTokens(said, {
        sentBytes: Buffer.byteLength(sent),
        receivedBytes: received.reduce((sum, { length }) => sum + length, 0),
        maxAnswerTokens: question.maxAnswerTokens,
      });
    try {
      const response = await this.#dispatcher.request({
        origin: url.origin,
        path: url.pathname.replace(/\/+$/, '') + path,
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
        body: sent,
        signal: AbortSignal.any([signal, limit]),
      });
      hasAnswered = true;
      status = response.statusCode;
      pause = String(response.headers['retry-after'] ?? '');
      for await (const chunk of response.body) received.push(chunk as Buffer);
      text = new TextDecoder().decode(Buffer.concat(received));
    } catch (thrown) {
      const spent = spentWith();
      if (signal.aborted) return { message: 'the run was stopped', spent };
      if (limit.aborted) return { message: `no response within ${Math.round(limitMs / 1000)} s`, spent };
      if (errorCodeOf(thrown) === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') {
        return { message: `its response is larger than ${maxAnswerBytes} bytes`, spent };
      }
      if (thrown instanceof EgressRefused) return { message: thrown.message };
      const isSent = hasAnswered || brokenOff.has(errorCodeOf(thrown) ?? '');
      return {
        message: toError(thrown).message,
        pauseMs: firstPauseMs,
        ...(isSent ? { spent } : {}),
      };
    }
    if (status < 200 || status > 299) return failedStatus(status, text, pause);
    const read = answerOf(dialect, text);
    return 'message' in read ? { ...read, spent: spentWith() } : { answer: read, spent: spentWith(read) };
  }

  /**
   * Checks the policy before connecting if no lookup will: a proxy resolves names itself, and an address needs no
   * resolution.
   */
  #refusal(url: URL): string | undefined {
    const hostname = bare(url);
    const isAddress = isIP(hostname) !== 0;
    if (!isAddress && this.#access.proxyUrl === undefined) return undefined;
    return this.#egress.refusal({ hostname, address: isAddress ? hostname : undefined, port: portOf(url) })
      ?.message;
  }
}

const noTokens: CountedTokens = { inputTokens: 0, outputTokens: 0, isEstimated: false };

class EgressRefused extends Error {}

/** Loaded with the first connection: a service without such a proxy loads no probe. */
function socksConnectorFor(proxyUrl: URL): Connector {
  return (options, callback) => {
    import('@picket/probes/outbound/socks-connector.ts').then(
      ({ socksConnector }) => socksConnector(proxyUrl, { timeoutMs: connectTimeoutMs })(options, callback),
      (thrown: unknown) => callback(toError(thrown), null),
    );
  };
}

/** Resolves names as checks do, and returns only addresses that the egress policy allows. */
function lookupWith({ egress, resolver }: ModelNetwork, url: URL): LookupFunction {
  return (hostname, options, callback) => {
    resolver.resolve(hostname, 'any').then(
      (found) => {
        const refusals = found.map(({ address }) => egress.refusal({ hostname, address, port: portOf(url) }));
        const open = found.filter((_, index) => refusals[index] === undefined);
        const [first] = open;
        if (!first)
          callback(new EgressRefused(refusals.find(Boolean)?.message ?? `${hostname} has no address`), '', 0);
        else if (options.all) callback(null, [...open]);
        else callback(null, first.address, first.family);
      },
      (thrown: unknown) => callback(toError(thrown), '', 0),
    );
  };
}

function failedStatus(status: number, text: string, pause: string | undefined): FailedTry {
  const refusal = beginningOf(text, maxShownLength);
  const message = `it responded with status ${status}: ${refusal}`;
  const isPassing = status === 408 || status === 409 || status === 429 || status >= 500;
  if (!isPassing) return { message, status, refusal };
  const asked = Number(pause) * 1000;
  const pauseMs = pause !== '' && Number.isFinite(asked) ? asked : firstPauseMs;
  return { message, status, refusal, pauseMs: pauseMs <= maxPauseMs ? pauseMs : undefined };
}

function answerOf(dialect: ModelDialect, text: string): ModelAnswer | FailedTry {
  try {
    return dialect.answer(JSON.parse(text));
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError) && !(thrown instanceof z.ZodError)) throw thrown;
    const shown = beginningOf(text, maxShownLength);
    return { message: `its response does not match this protocol: ${shown}`, pauseMs: firstPauseMs };
  }
}

function bare({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

function portOf({ port, protocol }: URL): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}
