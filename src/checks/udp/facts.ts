import { hostOf, noFacts, phaseFacts, type RunFacts } from '../contract/facts.ts';
import { diagnosisFacts } from '../judging/diagnosis-facts.ts';
import type { UdpDetail } from './detail.ts';

export function udpFacts(detail: UdpDetail): RunFacts {
  const { request, response } = detail;
  return {
    ...noFacts,
    ...diagnosisFacts(detail),
    host: hostOf(request.hostname),
    port: request.port,
    address: response?.ipAddress ?? null,
    body: response?.data ?? '',
    isBodyCut: response?.truncated ?? false,
    phases: phaseFacts(response?.timingPhases ?? null),
    assertions: detail.assertions,
  };
}
