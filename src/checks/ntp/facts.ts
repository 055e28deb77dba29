import { hostOf, noFacts, phaseFacts, type RunFacts } from '../contract/facts.ts';
import { diagnosisFacts } from '../judging/diagnosis-facts.ts';
import type { NtpDetail } from './detail.ts';

export function ntpFacts(detail: NtpDetail): RunFacts {
  const { request, response, assertions } = detail;
  return {
    ...noFacts,
    ...diagnosisFacts(detail),
    host: hostOf(request.hostname),
    port: request.port,
    address: response?.ipAddress ?? null,
    phases: phaseFacts(response?.timingPhases ?? null),
    assertions,
  };
}
