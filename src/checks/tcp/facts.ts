import { hostOf, noFacts, phaseFacts, type RunFacts } from '../contract/facts.ts';
import { certificateFacts } from '../http/facts.ts';
import { diagnosisFacts } from '../judging/diagnosis-facts.ts';
import type { TcpDetail } from './detail.ts';

export function tcpFacts(detail: TcpDetail): RunFacts {
  const { request, response } = detail;
  return {
    ...noFacts,
    ...diagnosisFacts(detail),
    host: hostOf(request.hostname),
    port: request.port,
    address: response.ipAddress ?? response.error?.address ?? null,
    body: response.data ?? '',
    isBodyCut: response.truncated,
    phases: phaseFacts(response.timingPhases),
    certificate: certificateFacts(response.certificate),
    assertions: detail.assertions,
  };
}
