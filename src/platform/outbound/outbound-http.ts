import type { LookupFunction } from 'node:net';
import type { Answer, AnswerReading, OutboundRequest } from '@picket/channels/contract/channel.ts';
import { cut, oneLine } from '@picket/channels/contract/text.ts';
import { errorCodeOf, toError } from '@picket/lib/errors.ts';
import type { EgressPolicy } from '@picket/probes/egress/policy.ts';
import { Agent } from 'undici';
import { ReceiverNames } from './receiver-names.ts';

/** Outcome of a delivery. */
export type Delivery =
  | { readonly isDelivered: true; readonly result: string }
  | {
      readonly isDelivered: false;
      readonly result: string;
      /** False if a retry would fail in the same way. */
      readonly isRetryable: boolean;
      /** Delay requested by the receiver, in milliseconds. */
      readonly retryAfterMs?: number | undefined;
    };

type Header = string | string[] | undefined;

const defaultTimeoutMs = 10_000;
/** Maximum number of bytes read of a response, so that its connection can be reused. */
const readLimitBytes = 64 * 1024;
const maxReasonLength = 300;

/** A request of a channel, with a text or bytes as its body. */
export type AnyRequest = Omit<OutboundRequest, 'body'> & { readonly body: string | Uint8Array | null };

/** A response with all its fields, including trailers. */
export interface WholeAnswer extends Answer {
  readonly fields: Readonly<Record<string, Header>>;
}

/** Rules for judging responses. */
export interface AnswerRules {
  /** Whether a refusal may be temporary; false: a 4xx status is final unless it requests a retry. */
  readonly areRefusalsPassing: boolean;
  /** Reads the response; absent if only the status may be read. */
  readonly read?: ((answer: WholeAnswer) => AnswerReading) | undefined;
}

export interface OutboundSettings {
  readonly names?: ReceiverNames | undefined;
  readonly timeoutMs?: number | undefined;
  /** Whether receivers speak HTTP/2 from the first byte, even without TLS, as gRPC servers do. */
  readonly isHttp2?: boolean | undefined;
}

/**
 * Sends requests to receivers of alerts. Users choose the addresses, so the egress policy judges every connection by
 * its actual address; redirects are not followed, and nothing of a response is kept but the status and, for hosts that
 * the operator chose, what the channel reads.
 */
export class OutboundHttp {
  readonly #policy: EgressPolicy;
  readonly #agent: Agent;
  readonly #timeoutMs: number;

  constructor(
    policy: EgressPolicy,
    { names = new ReceiverNames(), timeoutMs = defaultTimeoutMs, isHttp2 }: OutboundSettings = {},
  ) {
    this.#policy = policy;
    this.#timeoutMs = timeoutMs;
    this.#agent = new Agent({
      connect: { lookup: guardedLookup(policy, names), timeout: timeoutMs, ...(isHttp2 && { useH2c: true }) },
      // Unlimited: callers have their own limits, and accounts must not wait for each other at a shared receiver.
      connections: null,
      keepAliveTimeout: 4_000,
      ...(isHttp2 && { allowH2: true }),
    });
  }

  async send(outbound: AnyRequest, rules: AnswerRules = { areRefusalsPassing: true }): Promise<Delivery> {
    const refusal = this.#refusal(outbound.url);
    if (refusal !== undefined) return { isDelivered: false, result: refusal, isRetryable: false };
    try {
      const { origin, pathname, search } = new URL(outbound.url);
      const { statusCode, headers, trailers, body } = await this.#agent.request({
        origin,
        path: `${pathname}${search}`,
        method: outbound.method as 'POST',
        headers: outbound.headers.flat(),
        body: outbound.body,
        signal: AbortSignal.timeout(this.#timeoutMs),
      });
      let reading: AnswerReading = {};
      if (rules.read) {
        const text = await beginningOfBody(body);
        // The trailers are complete only now.
        reading = rules.read({ statusCode, text, fields: { ...headers, ...trailers } });
      } else await body.dump({ limit: readLimitBytes });
      return judge(statusCode, waitOf(headers['retry-after'], headers.date), { ...rules, reading });
    } catch (thrown) {
      const error = toError(thrown);
      if (errorCodeOf(error) === refusedCode) {
        return { isDelivered: false, result: error.message, isRetryable: false };
      }
      if (errorCodeOf(error)?.startsWith('UND_ERR_INVALID_ARG') === true) {
        return { isDelivered: false, result: `cannot be sent: ${error.message}`, isRetryable: false };
      }
      const reason =
        error.name === 'TimeoutError' ? `no answer within ${this.#timeoutMs / 1000} s` : error.message;
      return { isDelivered: false, result: reason, isRetryable: true };
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  /** Returns why a URL is not called at all. Names are judged again, with their addresses, at connection time. */
  #refusal(url: string): string | undefined {
    if (!URL.canParse(url)) return 'the URL is not valid';
    const { protocol, hostname, port } = new URL(url);
    if (protocol !== 'http:' && protocol !== 'https:') return 'only http and https URLs are supported';
    return this.#policy.refusal({
      hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
    })?.message;
  }
}

/** 4xx statuses that request a retry: timeout, too early, too many requests. */
const passingStatuses: ReadonlySet<number> = new Set([408, 425, 429]);

const meanings: Readonly<Record<number, string>> = {
  400: 'the receiver rejected the message',
  401: 'the receiver rejected the key or token of the channel',
  403: 'the receiver rejected the key or token of the channel',
  404: 'the address of the channel does not exist; it may have been deleted',
  410: 'the address of the channel no longer exists',
  413: 'the message is too long for the receiver',
  422: 'the receiver rejected the message',
};

function judge(
  statusCode: number,
  askedMs: number | undefined,
  { areRefusalsPassing, reading }: AnswerRules & { readonly reading: AnswerReading },
): Delivery {
  const status = `status ${statusCode}`;
  const retryAfterMs = reading.retryAfterMs ?? askedMs;
  const said = (text: string) => `${status}: ${cut(oneLine(text), maxReasonLength)}`;
  if (reading.error !== undefined) {
    const isRetryable = reading.isRetryable ?? false;
    return { isDelivered: false, result: said(reading.error), isRetryable, retryAfterMs };
  }
  if (statusCode >= 200 && statusCode < 300) return { isDelivered: true, result: status };
  if (statusCode < 400) {
    return { isDelivered: false, result: `${status}: redirects are not followed`, isRetryable: false };
  }
  const isRetryable = areRefusalsPassing || statusCode >= 500 || passingStatuses.has(statusCode);
  const why = reading.reason ?? (isRetryable ? undefined : meanings[statusCode]);
  return { isDelivered: false, result: why === undefined ? status : said(why), isRetryable, retryAfterMs };
}

/** Returns the wait of a `Retry-After`: seconds, or a date (RFC 9110, 10.2.3) by the receiver's own clock. */
function waitOf(retryAfter: Header, date: Header): number | undefined {
  const [text, now] = [[retryAfter].flat()[0] ?? '', [date].flat()[0] ?? ''];
  const seconds = Number(text);
  const waitMs = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(text) - Date.parse(now);
  return waitMs > 0 ? waitMs : undefined;
}

async function beginningOfBody(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    sizeBytes += chunk.length;
    // Leaving the loop closes the connection.
    if (sizeBytes >= readLimitBytes) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}

const refusedCode = 'EGRESS_REFUSED';

/** Looks names up and omits forbidden addresses. */
function guardedLookup(policy: EgressPolicy, names: ReceiverNames): LookupFunction {
  return (hostname, options, callback) => {
    names.addressesOf(hostname).then(
      (addresses) => {
        const refusals = addresses.map(({ address }) => policy.refusal({ hostname, address }));
        const open = addresses.filter((_address, index) => refusals[index] === undefined);
        const [first] = open;
        if (!first) {
          const reason =
            refusals.find((refusal) => refusal !== undefined)?.message ?? `${hostname} has no address`;
          callback(Object.assign(new Error(reason), { code: refusedCode }), []);
        } else if (options.all) callback(null, open);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, []),
    );
  };
}
