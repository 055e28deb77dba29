import { isFailureCode } from '../../../checks/contract/failure.ts';
import { parseHostname } from '../../../checks/contract/target.ts';
import { isNamedByMessage, locationPart, networkFailureIn } from '../../../checks/judging/network-text.ts';
import { storedValue } from '../../../platform/store/stored-json.ts';
import type { FailingCheck, Symptom } from './failing-check.ts';

const detailOf = storedValue<object>('results.detail', {});

/** What a failure shows of its cause. */
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

/** What is read of a failed result. */
export interface FailedResult {
  readonly code: string | null;
  readonly message: string | null;
  /** As it is stored: JSON, or null. */
  readonly detail: string | null;
}

/** Where a run went, as far as its detail says. */
export interface RunTarget {
  readonly host: string | null;
  readonly address: string | null;
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
  EGRESS_DENIED: 'egress',
};

type Fields = Readonly<Record<string, unknown>>;

/**
 * What a stored detail says of where the run went, whatever its type: only those that went somewhere have
 * such fields.
 */
export function runTargetOf(detail: unknown): RunTarget {
  const request = fieldsOf(fieldsOf(detail).request);
  const response = fieldsOf(fieldsOf(detail).response);
  const url = textOf(request.url);
  // gRPC monitors have a host there.
  const named = url !== null && URL.canParse(url) ? new URL(url).hostname : (textOf(request.hostname) ?? url);
  const address =
    textOf(response.ipAddress) ?? textOf(response.resolvedIp) ?? textOf(fieldsOf(response.error).address);
  return { host: named === null ? null : (parseHostname(named) ?? null), address };
}

/** What a failed result shows; the host of its check's definition counts where the result names none. */
export function evidenceOf(result: FailedResult, definition: Fields): Evidence {
  const detail: unknown = result.detail === null ? null : detailOf(result.detail);
  const seen = runTargetOf(detail);
  const host = seen.host ?? runTargetOf(definition).host;
  const code = result.code !== null && isFailureCode(result.code) ? result.code : null;
  const status = fieldsOf(fieldsOf(detail).response).status;
  const message = result.message ?? '';
  const fromLocation = code === null ? null : locationPart(code, message);
  const base = { code: result.code, fromLocation, host, address: seen.address, ...detailEvidence(detail) };
  // What other failures quote is what the target said.
  const text = code !== null && isNamedByMessage(code) ? networkFailureIn(message) : null;
  if (text) {
    const { symptom, host, address } = text;
    return { ...base, symptom, host, address, certificate: null, egressRule: null, content: null };
  }
  const known = symptoms[code ?? ''];
  const isUnwell = typeof status === 'number' && status >= 500;
  const symptom = known ?? (isUnwell ? 'unwell' : 'content');
  return {
    ...base,
    symptom,
    certificate: symptom === 'certificate' ? base.certificate : null,
    egressRule: symptom === 'egress' ? (/ is refused:? (.+)$/.exec(message)?.[1] ?? null) : null,
    content: symptom === 'content' ? `${code} ${message.replaceAll(/\d+/g, '#').slice(0, 200)}` : null,
  };
}

function detailEvidence(detail: unknown): Pick<Evidence, 'hop' | 'nameServer' | 'certificate'> {
  const response = fieldsOf(fieldsOf(detail).response);
  const shown = fieldsOf(response.certificate);
  // SSL monitors say it in the words of their clients.
  const subject = textOf(shown.subjectCN) ?? textOf(shown.subject);
  const issuer = textOf(shown.issuerCN) ?? textOf(shown.issuer);
  const validTo = textOf(shown.validTo) ?? textOf(shown.notAfter);
  const pings = Array.isArray(response.pingResults) ? response.pingResults.map(fieldsOf) : [];
  const router = pings.find(({ error, from }) => error !== null && textOf(from) !== null);
  return {
    hop: textOf(router?.from) ?? lastHop(response) ?? routeEnd(detail),
    nameServer: textOf(fieldsOf(response.nameServerInfo).host),
    certificate: validTo
      ? `${subject ?? 'no name'}, issued by ${issuer ?? 'nobody'}, valid to ${validTo}`
      : null,
  };
}

/** Where the way of a traceroute monitor ended short of the target. */
function lastHop(response: Readonly<Record<string, unknown>>): string | null {
  return response.destinationReached === false ? textOf(fieldsOf(response.lastHop).ip) : null;
}

/** Where the route of a diagnosis ended. */
function routeEnd(detail: unknown): string | null {
  const log = fieldsOf(fieldsOf(detail).jobLog).request;
  for (const entry of Array.isArray(log) ? log.map(fieldsOf) : []) {
    const found = /no way on, says the last hop \(.*, ([0-9a-f.:]+)\)/.exec(textOf(entry.msg) ?? '')?.[1];
    if (found) return found;
  }
  return null;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
