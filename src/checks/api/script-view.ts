import type { ScriptRequest, ScriptResponse, TextMap } from '@picket/sandbox/lifecycle/lifecycle-scripts.ts';
import { headerPairs, queryMap } from '../http/header-map.ts';
import type { HttpExchange } from '../http/run.ts';
import type { ApiSpec } from './spec.ts';

/** Converts requests and responses to the form that scripts see, and back (check model 5.4). */

type ApiRequest = ApiSpec['request'];

/** The request as defined: templates are filled in after setup, with the variables that scripts have set by then. */
export function definedRequest(request: ApiRequest): ScriptRequest {
  const { method, url, body, bodyType, headers, queryParameters } = request;
  return {
    method,
    url,
    body: bodyType === 'NONE' ? '' : body,
    headers: mapOf(headers),
    queryParameters: mapOf(queryParameters),
  };
}

/** The request as sent. */
export function sentRequest({ request }: HttpExchange): ScriptRequest {
  return {
    method: request.method,
    url: request.url.href,
    body: request.body ?? '',
    headers: headerPairs(request.headers),
    queryParameters: queryMap(request.url),
  };
}

/** Applies the changes of scripts to the defined request. A body that a script adds is sent unchanged. */
export function changedRequest(
  given: ApiRequest,
  seen: ScriptRequest,
  method: ApiRequest['method'],
): ApiRequest {
  return {
    ...given,
    method,
    url: seen.url,
    body: seen.body,
    bodyType: given.bodyType === 'NONE' && seen.body !== '' ? 'RAW' : given.bodyType,
    headers: pairsOf(seen.headers),
    queryParameters: pairsOf(seen.queryParameters),
  };
}

/** The response; without one, a response with status 0, as results show it. */
export function seenResponse(exchange: HttpExchange | undefined): ScriptResponse {
  const { status = 0, statusText = '', headers, timings, timingPhases } = exchange?.response ?? {};
  return {
    statusCode: status,
    statusText,
    body: exchange?.bodyText() ?? '',
    headers: headers ?? {},
    timings: timings ?? null,
    timingPhases: timingPhases ?? null,
  };
}

/** Entries by name; a repeated name has a list of values. */
function mapOf(entries: readonly { readonly key: string; readonly value: string }[]): TextMap {
  const map = new Map<string, string | string[]>();
  for (const { key, value } of entries) {
    const before = map.get(key);
    map.set(key, before === undefined ? value : [before, value].flat());
  }
  return Object.fromEntries(map);
}

function pairsOf(map: TextMap): ApiRequest['headers'] {
  return Object.entries(map).flatMap(([key, values]) =>
    [values].flat().map((value) => ({ key, value, locked: false })),
  );
}
