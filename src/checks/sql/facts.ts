import { hostOf, noFacts, phaseFacts, type RunFacts } from '../contract/facts.ts';
import { diagnosisFacts } from '../judging/diagnosis-facts.ts';
import type { SqlDetail } from './detail.ts';

export function sqlFacts(detail: SqlDetail): RunFacts {
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
