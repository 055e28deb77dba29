import { hostOf, noFacts, phaseFacts, type RunFacts } from '../contract/facts.ts';
import { diagnosisFacts } from '../judging/diagnosis-facts.ts';
import type { SslCertificate, SslDetail } from './detail.ts';

export function sslFacts(detail: SslDetail): RunFacts {
  const { request, response } = detail;
  return {
    ...noFacts,
    ...diagnosisFacts(detail),
    host: hostOf(request.hostname),
    port: request.port,
    address: response?.resolvedIp ?? null,
    phases: phaseFacts(response?.timingPhases ?? null),
    certificate: certificateFacts(response?.certificate ?? null),
    assertions: detail.assertions,
  };
}

function certificateFacts(certificate: SslCertificate | null): RunFacts['certificate'] {
  if (!certificate || certificate.notAfter === null) return null;
  const { subjectCN, subject, issuerCN, issuer, notAfter } = certificate;
  return {
    host: null,
    subject: subjectCN || subject || null,
    issuer: issuerCN || issuer || null,
    validTo: notAfter,
  };
}
