import { errorCodeOf, toError } from '@picket/lib/errors.ts';
import type { EgressRefusal } from '../egress/policy.ts';
import { ResolveError } from '../resolver.ts';

/** The step in progress in a probe; timeout messages name it. */
export const probePhases = {
  dns: 'resolving the name',
  tcp: 'connecting',
  proxy: 'connecting through the proxy',
  starttls: 'requesting TLS',
  tls: 'negotiating TLS',
  firstByte: 'waiting for the response headers',
  download: 'downloading the body',
  data: 'waiting for data',
  message: 'waiting for a message',
  close: 'waiting for the connection to close',
} as const;
export type ProbePhase = keyof typeof probePhases;

/** Kinds of failure, in network terms independent of any product. */
export type ProbeErrorKind =
  | 'name-not-found'
  | 'resolver-unavailable'
  | 'connection-refused'
  | 'connection-reset'
  | 'connection-timeout'
  | 'host-unreachable'
  | 'certificate-invalid'
  | 'upgrade-refused'
  | 'handshake-failed'
  | 'response-timeout'
  | 'response-malformed'
  | 'reflection-failed'
  | 'dialogue-failed'
  | 'body-undecodable'
  | 'redirect-limit'
  | 'redirect-invalid'
  | 'network-unavailable'
  | 'proxy-failed'
  | 'out-of-resources'
  | 'login-unavailable'
  | 'request-invalid'
  | 'egress-denied'
  | 'aborted';

/** Machine-readable details of an error; unknown values are absent. */
export interface ProbeErrorDetails {
  /** The peer: its address if the error occurred while connecting to that address, else its name. */
  readonly host?: string;
  readonly address?: string;
  readonly port?: number;
  /** The step in which one of our time limits expired. */
  readonly timedOutIn?: ProbePhase;
  /** The proxy with its port, and its response. */
  readonly proxy?: string;
  readonly proxyStatus?: number;
  readonly proxyStatusText?: string;
  /** Whether the name exists, without an address of the wanted family. */
  readonly nameExists?: boolean;
  /** The resolver's response code. */
  readonly responseCode?: string;
  /** The local time used to validate a certificate. */
  readonly clockAt?: string;
  /** Close code of a WebSocket. */
  readonly closeCode?: number;
  /** The rule of the egress policy that denied it. */
  readonly egressRule?: string;
}

/** A probe that did not get a complete response. Returned as a value, never thrown across the probe's boundary. */
export class ProbeError extends Error {
  readonly kind: ProbeErrorKind;
  readonly phase: ProbePhase;
  /** Code of the system or library error, if any. */
  readonly code: string | undefined;
  details: ProbeErrorDetails;
  /** Time spent only waiting for the peer, if known. */
  waitedMs: number | undefined;

  /** @param options.cause the system or library error, if any. */
  constructor(
    kind: ProbeErrorKind,
    phase: ProbePhase,
    message: string,
    code?: string,
    options?: { readonly cause?: Error; readonly details?: ProbeErrorDetails },
  ) {
    super(message, options);
    this.name = 'ProbeError';
    this.kind = kind;
    this.phase = phase;
    this.code = code;
    const isOwnLimit = code === 'ETIMEDOUT' && options?.cause === undefined;
    this.details = { ...(isOwnLimit && { timedOutIn: phase }), ...options?.details };
  }
}

/** The error for a connection that the egress policy refuses in a phase. */
export function egressDenied(phase: ProbePhase, { message, rule }: EgressRefusal): ProbeError {
  return new ProbeError('egress-denied', phase, message, undefined, { details: { egressRule: rule } });
}

/** Codes that mean the same in every phase. */
const kindByCode: Readonly<Record<string, ProbeErrorKind>> = {
  ECONNREFUSED: 'connection-refused',
  ECONNRESET: 'connection-reset',
  EPIPE: 'connection-reset',
  ECONNABORTED: 'connection-reset',
  EHOSTUNREACH: 'host-unreachable',
  EHOSTDOWN: 'host-unreachable',
  ENONET: 'host-unreachable',
  EINVAL: 'host-unreachable',
  ENETUNREACH: 'network-unavailable',
  ENETDOWN: 'network-unavailable',
  EAFNOSUPPORT: 'network-unavailable',
  EPERM: 'network-unavailable',
  EACCES: 'network-unavailable',
  EMFILE: 'out-of-resources',
  ENFILE: 'out-of-resources',
  ENOBUFS: 'out-of-resources',
  ENOMEM: 'out-of-resources',
  EADDRNOTAVAIL: 'out-of-resources',
  EADDRINUSE: 'out-of-resources',
  EAGAIN: 'out-of-resources',
  EAI_MEMORY: 'out-of-resources',
};

const resourceKinds: ReadonlySet<ProbeErrorKind> = new Set(['out-of-resources', 'network-unavailable']);

/** OpenSSL's verdicts on a certificate, by their Node names, and Node's own verdict on the host name. */
const certificateCode =
  /^(CERT_|CRL_|DEPTH_ZERO_SELF_SIGNED_CERT$|SELF_SIGNED_CERT_IN_CHAIN$|UNABLE_TO_|INVALID_(CA|PURPOSE)$|PATH_LENGTH_EXCEEDED$|HOSTNAME_MISMATCH$|ERROR_IN_CERT_|ERR_TLS_CERT_ALTNAME_)/;
const handshakeCode = /^(ERR_SSL_|ERR_TLS_|ERR_OSSL_|EPROTO$)/;

/**
 * Classifies an error that occurred in a phase: returns a ProbeError, or the error itself if it is not a system or
 * protocol error and therefore a bug of ours.
 *
 * @param where the peer, such as `example.com:443` or `10.0.0.1:80`, for messages that do not name it.
 * @param peer the same for programs.
 */
export function classifyError(
  thrown: unknown,
  phase: ProbePhase,
  where: string,
  peer: ProbeErrorDetails = {},
): Error {
  if (thrown instanceof ProbeError) {
    thrown.details = withPeer(thrown.details, peer);
    return thrown;
  }
  if (thrown instanceof ResolveError) {
    const message = phase === 'proxy' ? `${thrown.message} (${where})` : thrown.message;
    const { code, responseCode, egressRule } = thrown;
    const nameExists = namedWithoutAddress.has(code);
    return new ProbeError(resolveKind(thrown, phase), phase, message, code, {
      cause: thrown,
      details: { ...peer, nameExists, responseCode, egressRule },
    });
  }
  const error = toError(thrown);
  const code = errorCodeOf(error) ?? '';
  const kind =
    kindOf(code, phase) ??
    ('syscall' in error ? unknownSystemError(phase) : undefined) ??
    (phase === 'tls' && code !== '' ? unknownTlsError(code) : undefined);
  if (kind === undefined) return error;
  const clockAt = isAboutTime(code) ? new Date().toISOString() : undefined;
  return new ProbeError(kind, phase, describe(textOf(error, kind, clockAt), code, where), code, {
    cause: error,
    details: { ...withPeer(systemPeer(error), peer), clockAt },
  });
}

/** Codes of getaddrinfo and of our resolver for a name that exists without an address of the wanted family. */
const namedWithoutAddress: ReadonlySet<string> = new Set(['ENODATA', 'EAI_NODATA']);

/** Keeps the details of one peer instead of mixing two. */
function withPeer(own: ProbeErrorDetails, peer: ProbeErrorDetails): ProbeErrorDetails {
  return own.port === undefined ? { ...peer, ...own } : own;
}

/** The peer of a failed system call. */
function systemPeer(
  error: Error & { readonly address?: unknown; readonly port?: unknown },
): ProbeErrorDetails {
  const { address, port } = error;
  return typeof address === 'string' && typeof port === 'number' ? { address, port } : {};
}

function isAboutTime(code: string): boolean {
  return code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID';
}

/**
 * Classifies an error after a packet was sent, as a response of the network. The kernel reports ICMPv6 errors of
 * routers and firewalls that prohibit it ("administratively prohibited" and similar, RFC 4443) as EACCES, like packets
 * that this host itself blocks; their IPv4 equivalents are EHOSTUNREACH.
 */
export function networkAnswer(error: Error, phase: ProbePhase, where: string): Error {
  if (errorCodeOf(error) !== 'EACCES') return error;
  const kind = phase === 'proxy' ? 'proxy-failed' : 'host-unreachable';
  const message = `${describe(error.message, 'EACCES', where)}: a router or firewall prohibits it`;
  return new ProbeError(kind, phase, message, 'EACCES', { cause: error, details: systemPeer(error) });
}

function resolveKind({ kind, code }: ResolveError, phase: ProbePhase): ProbeErrorKind {
  // A lookup can run out of file descriptors or memory, too.
  const own = kindByCode[code];
  if (own !== undefined && resourceKinds.has(own)) return own;
  if (kind === 'refused') return 'egress-denied';
  if (phase === 'proxy') return 'proxy-failed';
  return kind === 'not-found' ? 'name-not-found' : 'resolver-unavailable';
}

/** Returns the message without the noise that some libraries add. */
function textOf(error: Error, kind: ProbeErrorKind, clockAt: string | undefined): string {
  const code = errorCodeOf(error) ?? '';
  // OpenSSL's reason, without thread ids and source lines.
  if ('reason' in error && typeof error.reason === 'string' && code.startsWith('ERR_SSL_')) {
    return `TLS failed: ${error.reason}`;
  }
  if (kind !== 'certificate-invalid') return error.message;
  const [verdict = ''] = error.message.split('; if the root CA');
  return clockAt === undefined ? verdict : `${verdict}; this host's clock says ${clockAt}`;
}

function kindOf(code: string, phase: ProbePhase): ProbeErrorKind | undefined {
  const kind = kindByCode[code];
  if (kind !== undefined && resourceKinds.has(kind)) return kind;
  if (phase === 'proxy') return code === '' ? undefined : 'proxy-failed';
  if (code === 'ETIMEDOUT') return phase === 'tcp' ? 'connection-timeout' : 'response-timeout';
  if (certificateCode.test(code)) return 'certificate-invalid';
  if (handshakeCode.test(code) || (phase === 'tls' && kind === 'connection-reset')) return 'handshake-failed';
  if (kind !== undefined) return kind;
  return undefined;
}

/** The kernel has more error numbers than the table; the unknown ones are still failures of the peer. */
function unknownSystemError(phase: ProbePhase): ProbeErrorKind {
  return phase === 'tcp' ? 'host-unreachable' : 'connection-reset';
}

/**
 * Node names only a few of OpenSSL's certificate verdicts: the others are UNSPECIFIED, or have names from a later
 * version. All of them concern the target.
 */
function unknownTlsError(code: string): ProbeErrorKind {
  return code.startsWith('ERR_') ? 'handshake-failed' : 'certificate-invalid';
}

/** The library's message, followed by the peer and the code unless it contains them. */
function describe(message: string, code: string, where: string): string {
  const text = message === '' ? code : message;
  const withPeer = text.includes(where) ? text : `${text} (${where})`;
  return code === '' || withPeer.includes(code) ? withPeer : `${withPeer} [${code}]`;
}

/** The error for a deadline that expired in a phase. */
export function deadlineError(phase: ProbePhase, timeoutMs: number, where: string): ProbeError {
  const kind = deadlineKinds[phase];
  const message = `timed out after ${Math.round(timeoutMs)} ms while ${probePhases[phase]} (${where})`;
  return new ProbeError(kind, phase, message, 'ETIMEDOUT');
}

const deadlineKinds: Readonly<Record<ProbePhase, ProbeErrorKind>> = {
  dns: 'resolver-unavailable',
  tcp: 'connection-timeout',
  proxy: 'proxy-failed',
  starttls: 'response-timeout',
  tls: 'connection-timeout',
  firstByte: 'response-timeout',
  download: 'response-timeout',
  data: 'response-timeout',
  message: 'response-timeout',
  close: 'response-timeout',
};
