import type { ProbeErrorDetails } from '@picket/probes/connection/errors.ts';
import { type Failure, type FailureCode, failure } from '../contract/failure.ts';
import { detailsFor, type FailureDetails } from '../contract/failure-details.ts';
import { certificateFlawIn } from '../foreign-texts/tls.ts';

/** The only table from errors of a probe to failure codes of a result. */
const codes = {
  'name-not-found': 'NAME_NOT_FOUND',
  'resolver-unavailable': 'RESOLVER_FAILED',
  'connection-refused': 'CONNECTION_REFUSED',
  'connection-reset': 'CONNECTION_RESET',
  'connection-timeout': 'CONNECTION_TIMEOUT',
  'host-unreachable': 'HOST_UNREACHABLE',
  'certificate-invalid': 'TLS_CERTIFICATE_INVALID',
  'upgrade-refused': 'STARTTLS_REFUSED',
  'handshake-failed': 'TLS_HANDSHAKE_FAILED',
  'response-timeout': 'RESPONSE_TIMEOUT',
  'response-malformed': 'RESPONSE_MALFORMED',
  'body-undecodable': 'RESPONSE_UNDECODABLE',
  'reflection-failed': 'GRPC_REFLECTION_FAILED',
  'dialogue-failed': 'DIALOGUE_FAILED',
  'redirect-limit': 'REDIRECT_LIMIT',
  'redirect-invalid': 'REDIRECT_INVALID',
  'network-unavailable': 'NETWORK_UNAVAILABLE',
  'proxy-failed': 'PROXY_FAILED',
  'out-of-resources': 'AGENT_OUT_OF_RESOURCES',
  'login-unavailable': 'LOGIN_UNAVAILABLE',
  'request-invalid': 'REQUEST_INVALID',
  'egress-denied': 'EGRESS_DENIED',
  aborted: 'RUN_ABORTED',
} as const satisfies Readonly<Record<string, FailureCode>>;

/** Converts a probe's error to the failure of the check (see src/probes/connection/errors.ts). */
export function probeFailure(error: {
  readonly kind: keyof typeof codes;
  readonly message: string;
  readonly details?: ProbeErrorDetails;
}): Failure {
  const { kind, message, details } = error;
  const code = codes[kind];
  const known: FailureDetails = {
    ...details,
    ...(kind === 'certificate-invalid' && { certificateFlaw: certificateFlawIn(message) }),
  };
  return failure(code, message, detailsFor(code, known));
}
