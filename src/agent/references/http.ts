import type { SecretReason } from '@picket/checks/contract/failure-details.ts';
import { errorCodeOf, toError } from '@picket/lib/errors.ts';
import { type ProxySettings, proxyUrlOf } from '@picket/lib/proxy.ts';
import { beginningOf } from '@picket/lib/text.ts';
import { outboundDispatcher } from '@picket/probes/outbound/outbound-dispatcher.ts';
import type { Dispatcher } from 'undici';
import type { z } from 'zod';
import { ReferenceProblem } from './problem.ts';

const requestTimeoutMs = 10_000;
/** Larger than any secret of a supported provider; Vault's own limit is 1 MiB. */
const maxAnswerBytes = 1_048_576;
const maxShownLength = 200;

export interface SecretRequest {
  readonly url: string | URL;
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** True for addresses of the host or its network, which no proxy reaches, such as metadata services. */
  readonly isLocal?: boolean;
}

export interface SecretAnswer {
  readonly status: number;
  readonly text: string;
}

/**
 * Requests to providers of secrets: through the proxy of the agent, with its certificate authorities, bounded in time
 * and size. Redirects are not followed: they would carry the credential to another host.
 */
export class SecretHttp implements AsyncDisposable {
  readonly #proxy: ProxySettings;
  readonly #timeoutMs: number;
  readonly #dispatchers = new Map<string, Dispatcher>();

  /** @param timeoutMs limit of one request, from the connection to the end of the response. */
  constructor(proxy: ProxySettings, timeoutMs = requestTimeoutMs) {
    this.#proxy = proxy;
    this.#timeoutMs = timeoutMs;
  }

  /** @throws ReferenceProblem if there is no response; every status is a response. */
  async request(request: SecretRequest, signal: AbortSignal): Promise<SecretAnswer> {
    const url = new URL(request.url);
    const limit = AbortSignal.timeout(this.#timeoutMs);
    try {
      const { statusCode, body } = await this.#dispatcher(url, request.isLocal === true).request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: request.method ?? 'GET',
        headers: { accept: 'application/json', 'user-agent': 'picket-agent', ...request.headers },
        body: request.body ?? null,
        signal: AbortSignal.any([signal, limit]),
      });
      return { status: statusCode, text: await body.text() };
    } catch (thrown) {
      if (signal.aborted) throw new ReferenceProblem('FAILED', 'the agent stops');
      if (limit.aborted) {
        throw new ReferenceProblem(
          'TIMED_OUT',
          `${url.host} did not respond within ${this.#timeoutMs / 1000} s`,
        );
      }
      const code = errorCodeOf(thrown);
      if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') {
        throw new ReferenceProblem(
          'TOO_LARGE',
          `the response of ${url.host} is larger than ${maxAnswerBytes} bytes`,
        );
      }
      const kind = code === 'UND_ERR_CONNECT_TIMEOUT' ? 'TIMED_OUT' : 'UNREACHABLE';
      throw new ReferenceProblem(kind, `${url.host} cannot be reached: ${toError(thrown).message}`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#dispatchers.values()].map((dispatcher) => dispatcher.destroy()));
  }

  #dispatcher(url: URL, isLocal: boolean): Dispatcher {
    const proxyUrl = isLocal ? undefined : proxyUrlOf(url.href, this.#proxy);
    const key = proxyUrl?.href ?? '';
    const dispatcher = this.#dispatchers.get(key) ?? outboundDispatcher(proxyUrl, maxAnswerBytes);
    this.#dispatchers.set(key, dispatcher);
    return dispatcher;
  }
}

/**
 * Reads a successful response.
 *
 * @param who the provider, for messages.
 * @throws ReferenceProblem if the response is not of that form.
 */
export function readAnswer<Schema extends z.ZodType>(
  who: string,
  schema: Schema,
  { text, status }: SecretAnswer,
): z.output<Schema> {
  const parsed = schema.safeParse(jsonOf(text));
  if (parsed.success) return parsed.data;
  throw new ReferenceProblem('UNUSABLE', `the response of ${who} is not of the documented form`, status);
}

/**
 * The problem that a response without success describes: its status, and the explanation of the provider.
 *
 * @param explanation the part of the response that explains it, by the schema of the provider's errors.
 * @param reason if not that of the status.
 */
export function refusal(
  who: string,
  { status, text }: SecretAnswer,
  explanation: z.ZodType<string>,
  reason: SecretReason = reasonOf(status),
): ReferenceProblem {
  const parsed = explanation.safeParse(jsonOf(text));
  const why = parsed.success && parsed.data !== '' ? ` (${beginningOf(parsed.data, maxShownLength)})` : '';
  const isRedirect = status >= 300 && status < 400;
  const what = isRedirect ? `${status}, a redirect, which is not followed` : `${status}${why}`;
  return new ReferenceProblem(reason, `${who} responded with ${what}`, status);
}

function reasonOf(status: number): SecretReason {
  if (status === 401 || status === 403) return 'DENIED';
  return status === 404 ? 'NOT_FOUND' : 'FAILED';
}

/** The value of a JSON text; undefined if it is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}
