import { type AssertableValue, asFast, sameAgain, sameJson } from '../judging/assertable.ts';
import { isCredentialHeader } from '../judging/credential-headers.ts';
import type { HttpDetail } from './detail.ts';

/** Returns what can be asserted of an HTTP response. */
export function httpAssertable({ response }: HttpDetail): AssertableValue[] {
  const { status, headers, timings, body, bodyEncoding, truncated } = response;
  if (status === 0) return [];
  const shownHeaders = Object.entries(headers ?? {}).filter(([name]) => !isCredentialHeader(name));
  return [
    ...sameAgain('Status', 'STATUS_CODE', status),
    ...(timings ? asFast(timings.end) : []),
    ...shownHeaders.flatMap(([name, value]) => sameAgain(name, 'HEADERS', value, name)),
    ...(bodyEncoding === undefined && !truncated ? sameJson('JSON_BODY', body) : []),
  ];
}
