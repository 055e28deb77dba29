import { headerFacts, noFacts, phaseFacts, type RunFacts } from '../contract/facts.ts';
import { certificateFacts, urlFacts } from '../http/facts.ts';
import { diagnosisFacts } from '../judging/diagnosis-facts.ts';
import type { WebSocketDetail } from './detail.ts';

export function webSocketFacts(detail: WebSocketDetail): RunFacts {
  const { request, response } = detail;
  return {
    ...noFacts,
    ...diagnosisFacts(detail),
    ...urlFacts(request.url),
    traceparent: request.traceparent ?? null,
    address: response?.ipAddress ?? null,
    status: response?.status || null,
    statusText: response?.statusText || null,
    headers: headerFacts(response?.headers ?? null),
    requestHeaders: headerFacts(request.headers),
    body: response?.body ?? '',
    phases: phaseFacts(response?.timingPhases ?? null),
    certificate: certificateFacts(response?.certificate ?? null),
    assertions: detail.assertions,
  };
}
