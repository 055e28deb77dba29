import type { LookupFunction } from 'node:net';
import { Agent } from 'undici';
import { errorCodeOf, toError } from '../../../lib/errors.ts';
import type { EgressPolicy } from '../../../probes/egress/policy.ts';
import { ReceiverNames } from './receiver-names.ts';

/** A request that delivers an alert. */
export interface OutboundRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | null;
}

/** How a delivery went. */
export type Delivery =
  | { readonly isDelivered: true; readonly result: string }
  | {
      readonly isDelivered: false;
      readonly result: string;
      /** False when the same will happen again: nothing is tried a second time. */
      readonly isRetryable: boolean;
      /** How long the receiver asked to be left alone, in milliseconds. */
      readonly retryAfterMs?: number | undefined;
    };

const timeoutMs = 10_000;
/** What is read of an answer, so that its connection can be used again; nothing of it is kept. */
const readLimitBytes = 64 * 1024;

/**
 * Sends requests to receivers of alerts. Addresses are other people's choice, so every connection is judged
 * by the egress policy, on the address it is made to; redirects are not followed, and of answers nothing is
 * kept but the status.
 */
export class OutboundHttp {
  readonly #policy: EgressPolicy;
  readonly #agent: Agent;

  constructor(policy: EgressPolicy, names = new ReceiverNames()) {
    this.#policy = policy;
    this.#agent = new Agent({
      connect: { lookup: guardedLookup(policy, names), timeout: timeoutMs },
      // As many as are asked for: the callers' own bounds hold, and accounts that share a receiver must not
      // wait for each other's requests.
      connections: null,
      keepAliveTimeout: 4_000,
    });
  }

  async send(outbound: OutboundRequest): Promise<Delivery> {
    const refusal = this.#refusal(outbound.url);
    if (refusal !== undefined) return { isDelivered: false, result: refusal, isRetryable: false };
    try {
      const { origin, pathname, search } = new URL(outbound.url);
      const { statusCode, headers, body } = await this.#agent.request({
        origin,
        path: `${pathname}${search}`,
        method: outbound.method as 'POST',
        headers: outbound.headers.flat(),
        body: outbound.body,
        signal: AbortSignal.timeout(timeoutMs),
      });
      await body.dump({ limit: readLimitBytes });
      return judge(statusCode, headers['retry-after']);
    } catch (thrown) {
      const error = toError(thrown);
      if (errorCodeOf(error) === refusedCode) {
        return { isDelivered: false, result: error.message, isRetryable: false };
      }
      if (errorCodeOf(error)?.startsWith('UND_ERR_INVALID_ARG') === true) {
        return { isDelivered: false, result: `cannot be sent: ${error.message}`, isRetryable: false };
      }
      const reason = error.name === 'TimeoutError' ? `no answer within ${timeoutMs / 1000} s` : error.message;
      return { isDelivered: false, result: reason, isRetryable: true };
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  /**
   * Why a URL is not called at all. Names are judged again, with their addresses, when they are connected to.
   */
  #refusal(url: string): string | undefined {
    if (!URL.canParse(url)) return 'the URL is not valid';
    const { protocol, hostname, port } = new URL(url);
    if (protocol !== 'http:' && protocol !== 'https:') return 'only http and https URLs are called';
    return this.#policy.refusal({
      hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
    });
  }
}

function judge(statusCode: number, retryAfter: string | string[] | undefined): Delivery {
  const result = `status ${statusCode}`;
  if (statusCode >= 200 && statusCode < 300) return { isDelivered: true, result };
  if (statusCode < 400) {
    return { isDelivered: false, result: `${result}: redirects are not followed`, isRetryable: false };
  }
  const seconds = Number([retryAfter].flat()[0]);
  return {
    isDelivered: false,
    result,
    isRetryable: true,
    retryAfterMs: Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined,
  };
}

const refusedCode = 'EGRESS_REFUSED';

/** Looks names up and leaves out the addresses that must not be connected to. */
function guardedLookup(policy: EgressPolicy, names: ReceiverNames): LookupFunction {
  return (hostname, options, callback) => {
    names.addressesOf(hostname).then(
      (addresses) => {
        const refusals = addresses.map(({ address }) => policy.refusal({ hostname, address }));
        const open = addresses.filter((_address, index) => refusals[index] === undefined);
        const [first] = open;
        if (!first) {
          const reason = refusals.find((refusal) => refusal !== undefined) ?? `${hostname} has no address`;
          callback(Object.assign(new Error(reason), { code: refusedCode }), []);
        } else if (options.all) callback(null, open);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, []),
    );
  };
}
