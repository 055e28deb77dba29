import { type Conclusion, shown } from '../../conclusion.ts';
import { type AnalysisInput, impactOf } from '../../run-view/case.ts';
import { companyItems, sentence } from '../location.ts';

/** A certificate that is valid, but expires soon. */
export function expiringCertificate(given: AnalysisInput): Conclusion | undefined {
  const { run } = given;
  if (run.code !== 'TLS_CERTIFICATE_EXPIRING') return undefined;
  const host = run.host ?? given.target;
  const { certificate } = run;
  // The expiring certificate may be that of an issuer.
  const own = certificate ? ` The certificate of ${host} itself is valid until ${certificate.validTo}.` : '';
  return {
    certainty: 'CERTAIN',
    owner: 'target',
    classification: 'CONFIGURATION_ERROR',
    cause: `${sentence(run.message)}${own} It has not been renewed in time, or the server has not loaded the new one.`,
    impact: impactOf(
      given,
      'None yet; browsers and other clients will refuse the connection from that day on.',
    ),
    next: `Renew the certificate of ${host} and have the server load it; find out why it was not renewed automatically.`,
    evidence: [shown(run.message, 'error', ...run.files), ...companyItems(given)],
  };
}

/** TLS works, but is weaker than the check allows. */
export function weakTls(given: AnalysisInput): Conclusion | undefined {
  const { run } = given;
  if (run.code !== 'TLS_BASELINE_VIOLATED') return undefined;
  const isOfCertificate = run.details.baselinePart === 'certificate';
  return {
    certainty: 'CERTAIN',
    owner: 'target-or-check',
    classification: 'CONFIGURATION_ERROR',
    cause: `${given.target} uses TLS that is weaker than the baseline of the check allows. ${sentence(run.message)}`,
    impact: impactOf(given, 'Clients with stricter TLS settings than the agent refuse the connection.'),
    next: isOfCertificate
      ? `Install a certificate for ${run.host ?? given.target} with a stronger key and signature, and with stronger issuers; or lower the baseline of the check.`
      : 'Allow only newer TLS versions and stronger ciphers on the server, or lower the baseline of the check.',
    evidence: [shown(run.message, 'error', ...run.files), ...companyItems(given)],
  };
}

/** A server that continues in plain text. */
export function refusedStartTls(given: AnalysisInput): Conclusion | undefined {
  const { run, before } = given;
  if (run.code !== 'STARTTLS_REFUSED') return undefined;
  const changed = before
    ? ' It did at the last pass: its configuration has changed, or a device on the path removes the STARTTLS offer.'
    : '';
  return {
    certainty: 'LIKELY',
    owner: 'target',
    classification: 'CONFIGURATION_ERROR',
    cause: `${given.target} does not switch to TLS. ${sentence(run.message)}${changed}`,
    impact: impactOf(given, 'Clients that require TLS cannot connect; others use plain text.'),
    next: 'Check that the server has a certificate and offers STARTTLS on this port, and that no proxy or firewall in front of it rewrites its responses.',
    evidence: [shown(run.message, 'error', ...run.files), ...companyItems(given)],
  };
}
