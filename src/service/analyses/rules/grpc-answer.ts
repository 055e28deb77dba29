import { statusLabel } from '@picket/checks/grpc/status-words.ts';
import { type Conclusion, shown } from '../conclusion.ts';
import { type AnalysisInput, impactOf } from '../run-view/case.ts';
import { companyItems, sentence } from './location.ts';

/** A gRPC service is up and reports that it is not serving. */
export function notServing(given: AnalysisInput): Conclusion | undefined {
  const { run } = given;
  if (run.code !== 'SERVICE_NOT_SERVING') return undefined;
  return {
    certainty: 'CERTAIN',
    owner: 'target',
    classification: 'APPLICATION_ERROR',
    cause: `The server at ${given.target} is up, but its health service reports that the service is not serving. ${sentence(run.message)}`,
    impact: impactOf(given, 'Clients and load balancers that use health checks send it no calls.'),
    next: 'The service sets this status itself: look in its log for a dependency that is missing or slow, such as a database.',
    evidence: [shown(run.message, 'error', ...run.files), ...companyItems(given)],
  };
}

/** A gRPC server does not describe the method to be called. */
export function missingReflection(given: AnalysisInput): Conclusion | undefined {
  const { run, before } = given;
  if (run.code !== 'GRPC_REFLECTION_FAILED') return undefined;
  const changed = before ? ' It did at the last pass: another version may have been deployed.' : '';
  return {
    certainty: 'LIKELY',
    owner: 'target-or-check',
    classification: 'CONFIGURATION_ERROR',
    cause: `${given.target} responds, but its reflection does not describe the method that the check calls. ${sentence(run.message)}${changed}`,
    impact: impactOf(given, 'Unknown: the call was not made.'),
    next: 'Have the server register reflection and the service, or give the check the .proto file (serviceDefinition PROTO_FILE).',
    evidence: [shown(run.message, 'error', ...run.files), ...companyItems(given)],
  };
}

/** A call ended with a status other than OK. */
export function failedCall(given: AnalysisInput): Conclusion | undefined {
  const { run } = given;
  const { grpcStatus: code } = run.details;
  if (run.code !== 'STATUS_UNEXPECTED' || code === undefined) return undefined;
  const name = statusLabel(code);
  return {
    certainty: 'LIKELY',
    owner: notOfServer.has(name) ? 'target-or-check' : 'target',
    classification: notOfServer.has(name) ? 'CONFIGURATION_ERROR' : 'APPLICATION_ERROR',
    cause: `The server at ${given.target} ended the call with status ${code} (${name}). ${sentence(run.message)}`,
    impact: impactOf(given, 'Clients that make this call get the same status.'),
    next: notOfServer.has(name)
      ? 'Compare the method, the message and the metadata of the check with the current requirements of the service.'
      : 'Look in the log of the service at this time: the status comes from the service, or from a service that it calls.',
    evidence: [shown(run.message, 'error', ...run.files), ...companyItems(given)],
  };
}

/** Status codes that concern the request. */
const notOfServer: ReadonlySet<string> = new Set([
  'INVALID_ARGUMENT',
  'NOT_FOUND',
  'PERMISSION_DENIED',
  'UNAUTHENTICATED',
  'UNIMPLEMENTED',
  'OUT_OF_RANGE',
]);
