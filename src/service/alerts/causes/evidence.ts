import type { RunFacts, ShownCertificate } from '@picket/checks/contract/facts.ts';
import { isFailureCode } from '@picket/checks/contract/failure.ts';
import { networkFailureIn } from '@picket/checks/foreign-texts/network.ts';
import { isNamedByMessage, locationPart } from '@picket/checks/judging/location-part.ts';
import { failureDetails, type StoredFailure } from '@picket/platform/store/details/failure-details.ts';
import { storedFacts } from '@picket/platform/store/details/run-facts.ts';
import type { FailingCheck, Symptom } from './failing-check.ts';

/** Properties of a failure that help to find its cause. */
export type Evidence = Pick<
  FailingCheck,
  | 'code'
  | 'symptom'
  | 'fromLocation'
  | 'host'
  | 'address'
  | 'hop'
  | 'nameServer'
  | 'certificate'
  | 'egressRule'
  | 'content'
>;

/** Columns of a failed result that are read. */
export interface FailedResult extends StoredFailure {
  readonly check_type: string;
  /** Stored JSON, or null. */
  readonly detail: string | null;
}

const symptoms: Readonly<Record<string, Symptom>> = {
  NAME_NOT_FOUND: 'unnamed',
  DNS_NO_ANSWER: 'unnamed',
  CONNECTION_REFUSED: 'unreachable',
  CONNECTION_RESET: 'unreachable',
  CONNECTION_TIMEOUT: 'unreachable',
  HOST_UNREACHABLE: 'unreachable',
  TLS_HANDSHAKE_FAILED: 'unreachable',
  RESPONSE_TIMEOUT: 'unreachable',
  NO_REPLY: 'unreachable',
  PACKET_LOSS_EXCEEDED: 'unreachable',
  RESPONSE_MALFORMED: 'unwell',
  MAX_RESPONSE_TIME_EXCEEDED: 'unwell',
  TLS_CERTIFICATE_INVALID: 'certificate',
  TLS_CERTIFICATE_EXPIRING: 'certificate',
  TLS_BASELINE_VIOLATED: 'unwell',
  STARTTLS_REFUSED: 'unwell',
  SERVICE_NOT_SERVING: 'unwell',
  DIALOGUE_FAILED: 'unwell',
  REQUEST_REFUSED: 'unwell',
  EGRESS_DENIED: 'egress',
};

/**
 * Extracts evidence from a failed result.
 *
 * @param definedHost the host in the definition of the check, used if the result names no host.
 */
export function evidenceOf(result: FailedResult, definedHost: string | null): Evidence {
  const facts = storedFacts(result.check_type, result.detail);
  const details = failureDetails(result);
  const code = result.code !== null && isFailureCode(result.code) ? result.code : null;
  const message = result.message ?? '';
  const base = {
    code: result.code,
    fromLocation: code === null ? null : locationPart(code, message),
    host: facts.host ?? definedHost,
    address: facts.address,
    hop: details.router ?? facts.router,
    nameServer: facts.dns?.server ?? null,
  };
  // Failures with other codes quote the target.
  const text = code !== null && isNamedByMessage(code) ? networkFailureIn(message) : null;
  if (text) {
    const { symptom, host, address } = text;
    return { ...base, symptom, host, address, certificate: null, egressRule: null, content: null };
  }
  const isUnwell = facts.status !== null && facts.status >= 500;
  const symptom = symptoms[code ?? ''] ?? (isUnwell ? 'unwell' : 'content');
  return {
    ...base,
    symptom,
    certificate: symptom === 'certificate' ? shownCertificate(facts) : null,
    egressRule: symptom === 'egress' ? (details.egressRule ?? null) : null,
    content: symptom === 'content' ? `${code} ${message.replaceAll(/\d+/g, '#').slice(0, 200)}` : null,
  };
}

function shownCertificate({ certificate }: RunFacts): ShownCertificate | null {
  if (!certificate) return null;
  const { subject, issuer, validTo } = certificate;
  return { subject, issuer, validTo };
}
