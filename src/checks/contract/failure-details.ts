import type { ProbePhase } from '@picket/probes/connection/errors.ts';
import type { LoginState } from '@picket/probes/http/login/login.ts';
import { z } from 'zod';

/** Flaws of a certificate. `dated`: a browser reports it as expired or not yet valid. */
export const certificateFlaws = [
  'expired',
  'early',
  'dated',
  'name',
  'revoked',
  'self-signed',
  'issuer',
] as const;
export type CertificateFlaw = (typeof certificateFlaws)[number];

/** How the login of a request ended; the type of the probes says what each state means. */
export const loginStates = [
  'accepted',
  'refused',
  'not-asked',
  'not-offered',
  'unusable',
] as const satisfies readonly LoginState[];

/** Reasons why an agent cannot read a secret that its environment declares by reference. */
export const secretReasons = [
  'NOT_DECLARED',
  'NOT_FOUND',
  'DENIED',
  'UNREACHABLE',
  'TIMED_OUT',
  'TOO_LARGE',
  'UNUSABLE',
  'FAILED',
] as const;
export type SecretReason = (typeof secretReasons)[number];

/** Why a database refuses a login or a query, where its code says so. */
export const refusalReasons = [
  'CREDENTIALS',
  'ACCESS',
  'DATABASE',
  'CAPACITY',
  'TIME',
  'READ_ONLY',
  'STARTING',
] as const;
export type RefusalReason = (typeof refusalReasons)[number];

/** Phases in which a timeout can occur. */
const phases = [
  ...(['dns', 'tcp', 'proxy', 'starttls', 'tls', 'firstByte'] as const),
  ...(['download', 'data', 'message', 'close'] as const),
] as const satisfies readonly ProbePhase[];

/** Masks may be longer than the text they hide. */
const text = z.string().max(2000);

/**
 * Details of a failure for programs: its message is for people, and may be reworded at any time. Each code has its own
 * fields (`fieldsByCode`); unknown values are absent.
 */
export const FailureDetails = z
  .object({
    host: text.optional().describe('Host name of the peer, if the failure does not concern a single address'),
    address: text.optional().describe('Address of the peer'),
    port: z.int().optional().describe('Port of the peer'),
    timedOutIn: z.enum(phases).optional().describe('Phase in which the time limit was exceeded'),
    router: text.optional().describe('Router or host that responded instead of the target'),
    loop: z.array(text).max(10).optional().describe('Routers of a routing loop'),
    proxy: text.optional().describe('Proxy that refused or failed, with its port'),
    proxyStatus: z.int().optional().describe('HTTP status of that proxy'),
    proxyStatusText: text.optional().describe('Reason phrase of that response'),
    nameExists: z
      .boolean()
      .optional()
      .describe('true: the name exists but has no address of the requested family'),
    responseCode: text.optional().describe('DNS response code of the resolver; absent: no response'),
    certificateFlaw: z.enum(certificateFlaws).optional().describe('Problem of the certificate'),
    clockAt: text
      .optional()
      .describe('Time at which the certificate was verified, by the clock of the agent’s host'),
    baselinePart: z
      .enum(['certificate', 'connection'])
      .optional()
      .describe('Part that is weaker than the baseline allows'),
    grpcStatus: z.int().optional().describe('Final gRPC status of the call'),
    loginState: z
      .enum(loginStates)
      .optional()
      .describe('How the login of the request ended; refused: the server answered 401 to the credentials'),
    refusalReason: z
      .enum(refusalReasons)
      .optional()
      .describe(
        'Why a database refuses: user or password, its access rules or rights, an unknown database, no free connection, a query that takes too long, a change where none is permitted, or it starts or stops',
      ),
    closeCode: z.int().optional().describe('Close code of the WebSocket server'),
    egressRule: text.optional().describe('Rule of the egress policy that denied the connection'),
    secretName: text.optional().describe('Variable whose value is not available at the location'),
    secretProvider: text.optional().describe('Provider of that secret, such as `file` or `vault`'),
    secretReason: z
      .enum(secretReasons)
      .optional()
      .describe('Why the agent cannot read it; NOT_DECLARED: the agent does not know the secret'),
    secretStatus: z
      .int()
      .optional()
      .describe('HTTP status of the provider, or exit code of the command that prints the secret'),
    distrust: text
      .optional()
      .describe('Why an agent refused a check: UNSIGNED, UNKNOWN_KEY, REVOKED, CHANGED, EXPIRED or OLDER'),
    keyId: text.optional().describe('Id of the key that signed the check'),
    changedFields: z
      .array(text)
      .max(20)
      .optional()
      .describe('Fields of the check that changed after it was signed'),
  })
  .meta({ id: 'FailureDetails' });
export type FailureDetails = z.output<typeof FailureDetails>;

type Field = keyof FailureDetails;

const peer = ['host', 'address', 'port'] as const;
const overProxy = [...peer, 'proxy', 'proxyStatus', 'proxyStatusText'] as const;

/** The fields that a failure of each code can have. */
export const fieldsByCode = {
  NAME_NOT_FOUND: ['nameExists'],
  RESOLVER_FAILED: ['responseCode', 'timedOutIn'],
  CONNECTION_REFUSED: peer,
  CONNECTION_RESET: peer,
  CONNECTION_TIMEOUT: [...peer, 'timedOutIn'],
  HOST_UNREACHABLE: [...overProxy, 'router'],
  NETWORK_UNAVAILABLE: peer,
  PROXY_FAILED: [...overProxy, 'timedOutIn'],
  TLS_CERTIFICATE_INVALID: [...peer, 'certificateFlaw', 'clockAt'],
  TLS_HANDSHAKE_FAILED: peer,
  TLS_BASELINE_VIOLATED: ['baselinePart'],
  STARTTLS_REFUSED: peer,
  RESPONSE_TIMEOUT: [...peer, 'timedOutIn'],
  RESPONSE_MALFORMED: peer,
  RESPONSE_UNDECODABLE: peer,
  DIALOGUE_FAILED: [...peer, 'closeCode'],
  NO_REPLY: ['loop'],
  STATUS_UNEXPECTED: ['grpcStatus', 'loginState'],
  REQUEST_REFUSED: ['refusalReason'],
  EGRESS_DENIED: ['egressRule'],
  SECRET_UNAVAILABLE: ['secretName', 'secretProvider', 'secretReason', 'secretStatus'],
  CHECK_NOT_TRUSTED: ['distrust', 'keyId', 'changedFields'],
} as const satisfies Readonly<Record<string, readonly Field[]>>;

/** The details that a failure of a code can have. */
export type DetailsOf<Code extends string> = Code extends keyof typeof fieldsByCode
  ? Pick<FailureDetails, (typeof fieldsByCode)[Code][number]>
  : undefined;

/** Selects the known details that belong to a code; undefined if none does. */
export function detailsFor(code: string, known: FailureDetails): FailureDetails | undefined {
  const fields: readonly Field[] = Object.hasOwn(fieldsByCode, code)
    ? fieldsByCode[code as keyof typeof fieldsByCode]
    : [];
  const own = fields.flatMap((field) => (known[field] === undefined ? [] : [[field, known[field]] as const]));
  return own.length === 0 ? undefined : Object.fromEntries(own);
}
