import { daysLeft } from '@picket/lib/figures/days-left.ts';
import type { ChainCertificate } from '@picket/probes/tls/certificate.ts';
import type { HandshakeFacts } from '@picket/probes/tls/handshake-facts.ts';
import type { TlsPhases, TlsProbeResult } from '@picket/probes/tls/probe.ts';
import { familyName } from '../contract/ip-family.ts';
import { timesToMicroseconds, toMicroseconds } from '../contract/outcome.ts';
import type { Sources, SourceValue } from '../judging/evaluate.ts';
import { type JudgedBaseline, judgedCertificates } from './baseline.ts';
import type { SslCertificate, SslDetail } from './detail.ts';

export const dayMs = 86_400_000;

type Response = NonNullable<SslDetail['response']>;

/** Returns the first expiry of a certificate that the target is responsible for; undefined if a date is invalid. */
export function chainExpiryMs(handshake: HandshakeFacts): number | undefined {
  const times = judgedCertificates(handshake).map(({ notAfterMs }) => notAfterMs);
  return times.length > 0 && times.every(Number.isFinite) ? Math.min(...times) : undefined;
}

/** A handshake as a result shows it, or the phases before a failed one. */
export function responseOf(
  { address, phases, handshake }: TlsProbeResult,
  judged: JudgedBaseline | undefined,
  nowMs: number,
): Response {
  return {
    resolvedIp: address,
    ipFamily: familyName(address),
    timingPhases: timesToMicroseconds<TlsPhases>(phases),
    handshakeTimeMs: handshake ? toMicroseconds(phases.tls) : null,
    ...(handshake ? shownHandshake(handshake, nowMs) : nothingShown),
    securityBaseline: judged && handshake ? { ...judged.rules, verdict: verdictOf(judged) } : null,
  };
}

export function verdictOf({ failures, degradations }: JudgedBaseline): 'pass' | 'warn' | 'fail' {
  if (failures.length > 0) return 'fail';
  return degradations.length > 0 ? 'warn' : 'pass';
}

type Shown = Omit<
  Response,
  'resolvedIp' | 'ipFamily' | 'timingPhases' | 'handshakeTimeMs' | 'securityBaseline'
>;

const nothingShown: Shown = {
  protocol: null,
  cipherSuite: null,
  keyExchange: null,
  alpnProtocol: null,
  chainTrusted: null,
  trustError: null,
  hostnameVerified: null,
  hostnameError: null,
  daysUntilExpiry: null,
  chainDaysUntilExpiry: null,
  ocspStapled: null,
  ocspStatus: null,
  ocsp: null,
  certificate: null,
  chain: [],
  path: [],
};

function shownHandshake(handshake: HandshakeFacts, nowMs: number): Shown {
  const { protocol, cipherSuite, keyExchange, alpnProtocol, staple } = handshake;
  const chain = handshake.chain.map((certificate) => certificateView(certificate, nowMs));
  const sent = new Set(chain.map(({ fingerprintSha256 }) => fingerprintSha256));
  return {
    ...{ protocol, cipherSuite, keyExchange, alpnProtocol },
    chainTrusted: handshake.trustProblem === null,
    trustError: handshake.trustProblem?.message ?? null,
    hostnameVerified: handshake.nameProblem === null,
    hostnameError: handshake.nameProblem?.message ?? null,
    daysUntilExpiry: chain[0]?.daysUntilExpiry ?? null,
    chainDaysUntilExpiry: daysTo(chainExpiryMs(handshake), nowMs),
    ocspStapled: staple !== null,
    ocspStatus: staple?.status ?? null,
    ocsp: staple
      ? {
          producedAt: dateOrNull(staple.producedAtMs),
          thisUpdate: dateOrNull(staple.thisUpdateMs),
          nextUpdate: dateOrNull(staple.nextUpdateMs),
          revokedAt: dateOrNull(staple.revokedAtMs),
        }
      : null,
    certificate: chain[0] ?? null,
    chain,
    path: handshake.path.map(({ subjectCN, fingerprintSha256, notAfterMs }) => ({
      subjectCN,
      fingerprintSha256,
      notAfter: dateOrNull(notAfterMs),
      wasSent: sent.has(fingerprintSha256),
    })),
  };
}

function certificateView(certificate: ChainCertificate, nowMs: number): SslCertificate {
  const { notBeforeMs, notAfterMs, isSelfSigned, isAuthority, isStapleRequired, scts, sans, ...rest } =
    certificate;
  return {
    ...rest,
    notBefore: dateOrNull(notBeforeMs),
    notAfter: dateOrNull(notAfterMs),
    daysUntilExpiry: daysTo(notAfterMs, nowMs),
    sans: [...sans],
    selfSigned: isSelfSigned,
    isCA: isAuthority,
    mustStaple: isStapleRequired,
    scts: scts.map(({ logId, timestampMs }) => ({ logId, timestamp: dateOrNull(timestampMs) })),
  };
}

function daysTo(ms: number | undefined, nowMs: number): number | null {
  return ms !== undefined && Number.isFinite(ms) ? daysLeft(ms, nowMs) : null;
}

/** A certificate may contain any number as a date; JSON dates have a limited range. */
function dateOrNull(ms: number | null): string | null {
  const date = new Date(ms ?? Number.NaN);
  return Number.isFinite(date.getTime()) && date.getTime() < lastDateMs ? date.toISOString() : null;
}

const lastDateMs = Date.UTC(10_000, 0);

/** Sources of the assertions of an SSL monitor. */
export function sourcesOf(response: Response, responseTimeMs: number): Sources {
  const document = { kind: 'json', document: response } as const satisfies SourceValue;
  return {
    CERTIFICATE: () => ({ kind: 'fields', fields: certificateFields(response) }),
    CONNECTION: () => ({
      kind: 'fields',
      fields: { ...response, tlsVersion: Number(/^TLS([\d.]+)$/.exec(response.protocol ?? '')?.[1]) },
    }),
    // Assertions compare whole milliseconds; otherwise `EQUALS 120` could never hold.
    RESPONSE_TIME: () => ({ kind: 'value', value: Math.round(responseTimeMs) }),
    JSON_RESPONSE: () => document,
    TEXT_RESPONSE: () => ({ kind: 'text', text: JSON.stringify(response) }),
  };
}

function certificateFields({ certificate, chain, path, ...response }: Response) {
  return {
    ...certificate,
    daysUntilExpiry: response.daysUntilExpiry,
    chainDaysUntilExpiry: response.chainDaysUntilExpiry,
    issuerFingerprintSha256: path[1]?.fingerprintSha256 ?? null,
    sctCount: certificate?.scts.length ?? null,
    chainLength: chain.length,
  };
}
