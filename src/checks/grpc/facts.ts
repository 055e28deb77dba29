import { hostOf, noFacts, phaseFacts, type RunFacts } from '../contract/facts.ts';
import { certificateFacts } from '../http/facts.ts';
import { diagnosisFacts } from '../judging/diagnosis-facts.ts';
import type { GrpcDetail } from './detail.ts';

export function grpcFacts(detail: GrpcDetail): RunFacts {
  const { request, response } = detail;
  return {
    ...noFacts,
    ...diagnosisFacts(detail),
    host: hostOf(request.hostname),
    port: request.port,
    method: request.method || null,
    traceparent: request.traceparent ?? null,
    address: response?.resolvedIp ?? null,
    isBodyCut: response?.truncated ?? false,
    phases: phaseFacts(response?.timingPhases ?? null),
    certificate: certificateFacts(response?.certificate ?? null),
    assertions: detail.assertions,
  };
}
