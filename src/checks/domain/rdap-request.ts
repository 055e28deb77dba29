import { packageVersion } from '@picket/lib/version.ts';
import type { ForwardProxy } from '@picket/probes/connection/forward-proxy.ts';
import { type HttpProbeResult, probeHttp } from '@picket/probes/http/probe.ts';
import { type Failure, failure } from '../contract/failure.ts';
import { type Measurement, measurementOf, toMicroseconds } from '../contract/outcome.ts';
import { headerValue } from '../http/header-map.ts';
import { probeFailure } from '../judging/probe-failure.ts';
import type { ProbeControls } from '../runner/probe-runner.ts';

/** A JSON document of a server, or the reason for its absence. */
export type Fetched = FetchedDocument | FetchFailure;

interface Timed {
  /** URL of the last request. */
  readonly url: string;
  readonly elapsedMs: number;
  readonly measurement: Measurement;
}

export interface FetchedDocument extends Timed {
  readonly status: number;
  /** Undefined for a 404. */
  readonly document: unknown;
}

export interface FetchFailure extends Timed {
  readonly failure: Failure;
  /** Whether the server limits the rate of requests. */
  readonly isLimited?: boolean | undefined;
  /** How long the server asks clients to wait. */
  readonly waitMs?: number | undefined;
}

/** Means and limit of a request. */
export interface FetchMeans {
  readonly controls: ProbeControls;
  readonly proxy: ForwardProxy | undefined;
  readonly maxBodyBytes: number;
}

/**
 * Gets a JSON document. A server that cannot be reached or fails is the failure RDAP_UNAVAILABLE: it says nothing about
 * a domain.
 */
export async function fetchJson(url: URL, { controls, proxy, maxBodyBytes }: FetchMeans): Promise<Fetched> {
  const result = await probeHttp(
    {
      url,
      method: 'GET',
      headers: [
        'User-Agent',
        `Picket/${packageVersion()}`,
        'Accept',
        'application/rdap+json, application/json',
      ],
      body: undefined,
      followRedirects: true,
      isCertificateChecked: true,
      family: 'ipv4-first',
      proxy,
      maxBodyBytes,
    },
    controls,
  );
  const timed = {
    url: result.url.href,
    elapsedMs: toMicroseconds(result.elapsedMs),
    measurement: measurementOf(result.measurement),
  };
  const { head, error } = result;
  if (error || !head) return { ...timed, failure: unreachable(result) };
  const { status, statusText, headers } = head;
  if (status === 404) return { ...timed, status, document: undefined };
  if (status !== 200) {
    const waitMs = retryAfterMs(headerValue(headers, 'retry-after'));
    const wait = waitMs === undefined ? '' : `, and asks to wait for ${Math.ceil(waitMs / 1000)} s`;
    const limit = status === 429 ? ' (it limits the rate of requests)' : '';
    const message = `${result.url.host} answered ${status} ${statusText}${limit}${wait}`;
    return { ...timed, failure: failure('RDAP_UNAVAILABLE', message), waitMs, isLimited: status === 429 };
  }
  const odd = (why: string) => ({
    ...timed,
    failure: failure('RDAP_UNAVAILABLE', `${result.url.href} ${why}`),
  });
  if (result.body.isOverLimit) return odd(`sent more than ${maxBodyBytes} bytes`);
  try {
    return { ...timed, status, document: JSON.parse(result.body.bytes.toString('utf8')) as unknown };
  } catch {
    return odd('sent an answer that is not JSON');
  }
}

/** A failure that our side has to answer for stays what it is. */
function unreachable({ error, url }: HttpProbeResult): Failure {
  if (!error) return failure('RDAP_UNAVAILABLE', `${url.href} gave no answer`);
  const failed = probeFailure(error);
  if (failed.owner !== 'target') return failed;
  return failure('RDAP_UNAVAILABLE', `${url.href} cannot be used: ${failed.message}`);
}

const longestWaitMs = 86_400_000;

/** Reads Retry-After (RFC 9110 section 10.2.3): seconds, or a date. */
export function retryAfterMs(value: string): number | undefined {
  if (value === '') return undefined;
  const waitMs = /^\d{1,9}$/.test(value.trim()) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isFinite(waitMs) ? Math.min(longestWaitMs, Math.max(0, waitMs)) : undefined;
}
