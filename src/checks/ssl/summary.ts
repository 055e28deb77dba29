import { expiryText } from '@picket/lib/figures/days-left.ts';
import { utcText } from '@picket/lib/figures/time.ts';
import type { DetailSummary, SummarySection } from '../summary/detail-summary.ts';
import { code, fact, instant, volatileFact } from '../summary/parts.ts';
import { probeParts } from '../summary/probe-parts.ts';
import type { SslCertificate, SslDetail } from './detail.ts';

/** Summarizes an SSL monitor's result for people. */
export function summaryOf(detail: SslDetail): DetailSummary {
  const { request, response, degradedReasons } = detail;
  const target: SummarySection = {
    title: 'Connection',
    facts: [
      fact('Target', code(`${request.hostname}:${request.port}`)),
      fact('Address', response?.resolvedIp ?? null),
      fact('STARTTLS', request.startTls),
      fact('Server name (SNI)', code(request.serverName)),
      fact('Protocol', response?.protocol ?? null),
      fact('Cipher suite', response?.cipherSuite ?? null),
      fact('Key exchange', response?.keyExchange ?? null),
      fact('ALPN protocol', response?.alpnProtocol ?? null),
    ],
  };
  if (!response) return { ...probeParts(detail), sections: [target] };
  const { dns, connection, startTls, tls } = response.timingPhases;
  const isMade = response.handshakeTimeMs !== null;
  return {
    ...probeParts(detail),
    phases: [
      { name: 'DNS lookup', kind: 'dns', lengthMs: dns },
      { name: 'TCP connection', kind: 'tcp', lengthMs: connection },
      { name: 'STARTTLS', kind: 'wait', lengthMs: startTls },
      { name: 'TLS handshake', kind: 'tls', lengthMs: tls },
    ],
    sections: isMade
      ? [
          target,
          verdictSection(response, degradedReasons),
          ...certificateSections(response.chain),
          pathSection(response),
        ]
      : [target],
  };
}

function verdictSection(
  response: NonNullable<SslDetail['response']>,
  degradedReasons: readonly string[],
): SummarySection {
  const { trustError, hostnameError, securityBaseline, ocspStapled, ocspStatus } = response;
  const rules = Object.entries(securityBaseline ?? {}).flatMap(([name, rule]) =>
    typeof rule === 'string'
      ? []
      : [
          fact(
            ruleNames[name] ?? name,
            rule.value ?? 'none',
            rule.violated ? `violated: ${rule.severity}` : null,
          ),
        ],
  );
  return {
    title: 'Verdict',
    facts: [
      fact('Chain', response.chainTrusted ? 'trusted' : 'not trusted', trustError),
      fact(
        'Host name',
        response.hostnameVerified ? 'matches the certificate' : 'does not match',
        hostnameError,
      ),
      volatileFact('First of the chain', daysText(response.chainDaysUntilExpiry)),
      ...degradedReasons.map((reason) => fact('Degraded', reason, 'degraded')),
      fact('Stapled OCSP response', ocspStapled ? ocspStatus : 'none'),
      ...rules,
    ],
  };
}

const ruleNames: Readonly<Record<string, string>> = {
  minTLSVersion: 'Minimum TLS version',
  minKeySizeBits: 'Minimum key size',
  weakSignatureAlgorithm: 'Signature',
  weakCipherSuite: 'Cipher suite',
  knownBadCA: 'Distrusted CA',
  recommendedTLSVersion: 'Recommended TLS version',
  recommendedKeySizeBits: 'Recommended key size',
  ocspMustStapleRespected: 'OCSP must-staple',
  sctPresent: 'Signed certificate timestamps',
};

function certificateSections(chain: readonly SslCertificate[]): SummarySection[] {
  return chain.map((certificate, index) => ({
    title: index === 0 ? 'Certificate' : `Certificate ${index + 1} of the chain`,
    facts: [
      fact('Issued to', certificate.subjectCN ?? certificate.subject),
      fact('Issued by', certificate.issuerCN ?? certificate.issuer),
      fact('Names', certificate.sans.join(', ') || null),
      fact('Valid from', instant(certificate.notBefore)),
      fact('Valid to', instant(certificate.notAfter)),
      volatileFact('Expires', daysText(certificate.daysUntilExpiry)),
      fact('Key', `${certificate.keyAlgorithm} ${certificate.keySizeBits ?? ''}`.trim()),
      fact('Signature', certificate.signatureAlgorithm),
      fact('Serial number', code(certificate.serialNumber)),
      fact('SHA-256', code(certificate.fingerprintSha256)),
      fact('Signed timestamps', certificate.scts.length),
    ],
  }));
}

function pathSection({ path }: NonNullable<SslDetail['response']>): SummarySection {
  return {
    title: 'Certificate path',
    facts: path.map(({ subjectCN, wasSent, notAfter }, index) =>
      fact(
        `${index + 1}`,
        `${subjectCN ?? 'no common name'}, ${wasSent ? 'sent by the target' : 'known to the location'}, valid to ${dateText(notAfter) ?? 'no date'}`,
      ),
    ),
  };
}

/** Formats `2027-02-21T19:00:00.000Z` for people. */
function dateText(date: string | null): string | null {
  return date && utcText(date);
}

function daysText(days: number | null): string | null {
  return days === null ? null : expiryText(days);
}
