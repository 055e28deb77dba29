import { expiryText } from '../../lib/figures/days-left.ts';
import { utcText } from '../../lib/figures/time.ts';
import type { DetailSummary, SummaryFact, SummarySection } from '../summary/detail-summary.ts';
import type { SslCertificate, SslDetail } from './detail.ts';

/** What people read of an SSL monitor's result. */
export function summaryOf({ request, response, degradedReasons }: SslDetail): DetailSummary {
  const target: SummarySection = {
    title: 'Connection',
    facts: [
      fact('Target', `${request.hostname}:${request.port}`),
      fact('Address', response?.resolvedIp ?? null),
      fact('Asked for TLS in', request.startTls),
      fact('Name for TLS', request.serverName),
      fact('Protocol', response?.protocol ?? null),
      fact('Cipher suite', response?.cipherSuite ?? null),
      fact('Key exchange', response?.keyExchange ?? null),
      fact('Protocol above it', response?.alpnProtocol ?? null),
    ],
  };
  if (!response) return { phases: [], sections: [target] };
  const { dns, connection, startTls, tls } = response.timingPhases;
  const isMade = response.handshakeTimeMs !== null;
  return {
    phases: [
      { name: 'Name (DNS)', kind: 'dns', lengthMs: dns },
      { name: 'Connection (TCP)', kind: 'tcp', lengthMs: connection },
      { name: 'Asking for TLS', kind: 'wait', lengthMs: startTls },
      { name: 'Handshake (TLS)', kind: 'tls', lengthMs: tls },
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
      fact('Name', response.hostnameVerified ? 'the certificate is for it' : 'another name', hostnameError),
      fact('Expires first', daysText(response.chainDaysUntilExpiry)),
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
  knownBadCA: 'Distrusted authority',
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
      fact('Valid from', dateText(certificate.notBefore)),
      fact('Valid to', dateText(certificate.notAfter)),
      fact('Expires', daysText(certificate.daysUntilExpiry)),
      fact('Key', `${certificate.keyAlgorithm} ${certificate.keySizeBits ?? ''}`.trim()),
      fact('Signature', certificate.signatureAlgorithm),
      fact('Serial number', certificate.serialNumber),
      fact('SHA-256', certificate.fingerprintSha256),
      fact('Signed timestamps', certificate.scts.length),
    ],
  }));
}

function pathSection({ path }: NonNullable<SslDetail['response']>): SummarySection {
  return {
    title: 'Way to an authority',
    facts: path.map(({ subjectCN, wasSent, notAfter }, index) =>
      fact(
        `${index + 1}`,
        `${subjectCN ?? 'no common name'}, ${wasSent ? 'sent' : 'known to the location'}, valid to ${dateText(notAfter) ?? 'no date'}`,
      ),
    ),
  };
}

/** `2027-02-21T19:00:00.000Z` as people read it. */
function dateText(date: string | null): string | null {
  return date && utcText(date);
}

function daysText(days: number | null): string | null {
  return days === null ? null : expiryText(days);
}

function fact(name: string, value: string | number | null, problem: string | null = null): SummaryFact {
  return { name, value, problem };
}
