import { statusLabel } from '@picket/checks/grpc/status-words.ts';
import { type Conclusion, shown } from '../conclusion.ts';
import { type Case, impactOf } from '../seen/case.ts';
import { companyItems, sentence } from './location.ts';

/** A service of gRPC that is up and says that it does not serve. */
export function notServing(given: Case): Conclusion | undefined {
  const { run } = given;
  if (run.code !== 'SERVICE_NOT_SERVING') return undefined;
  return {
    certainty: 'CERTAIN',
    owner: 'target',
    classification: 'APPLICATION_ERROR',
    cause: `The server at ${given.target} is up, and its health service says that the service does not serve. ${sentence(run.message)}`,
    impact: impactOf(given, 'Clients and load balancers that ask for its health send it no calls.'),
    next: 'Look into the log of the service for what it waits for or has lost, such as a database; it sets this status itself.',
    evidence: [shown(run.message, 'error', ...run.files), ...companyItems(given)],
  };
}

/** A server of gRPC that does not describe what is to be called. */
export function missingReflection(given: Case): Conclusion | undefined {
  const { run, before } = given;
  if (run.code !== 'GRPC_REFLECTION_FAILED') return undefined;
  const changed = before ? ' It did when the check passed last: another version may have been deployed.' : '';
  return {
    certainty: 'LIKELY',
    owner: 'target-or-check',
    classification: 'CONFIGURATION_ERROR',
    cause: `${given.target} answers, and does not describe the method that the check calls. ${sentence(run.message)}${changed}`,
    impact: impactOf(given, 'The call was not made: nothing is known of the service itself.'),
    next: 'Have the server register reflection and the service, or give the check the .proto file (serviceDefinition PROTO_FILE).',
    evidence: [shown(run.message, 'error', ...run.files), ...companyItems(given)],
  };
}

/** A call that ended with another status than OK. */
export function failedCall(given: Case): Conclusion | undefined {
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
      ? 'Compare the method, the message and the metadata of the check with what the service asks for now.'
      : 'Look into the log of the service at this time: the status is its own, or that of what it calls.',
    evidence: [shown(run.message, 'error', ...run.files), ...companyItems(given)],
  };
}

/** What is about the question. */
const notOfServer: ReadonlySet<string> = new Set([
  'INVALID_ARGUMENT',
  'NOT_FOUND',
  'PERMISSION_DENIED',
  'UNAUTHENTICATED',
  'UNIMPLEMENTED',
  'OUT_OF_RANGE',
]);
