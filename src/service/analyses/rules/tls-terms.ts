import { type Conclusion, shown } from '../conclusion.ts';
import { type Case, impactOf } from '../seen/case.ts';
import { companyItems, sentence } from './location.ts';

/** A certificate that is still good, but not for long. */
export function expiringCertificate(given: Case): Conclusion | undefined {
  const { run } = given;
  if (run.code !== 'TLS_CERTIFICATE_EXPIRING') return undefined;
  const host = run.host ?? given.target;
  const { certificate } = run;
  // The one that ends may be an issuer's.
  const own = certificate ? ` That of ${host} itself is valid to ${certificate.validTo}.` : '';
  return {
    certainty: 'CERTAIN',
    owner: 'target',
    classification: 'CONFIGURATION_ERROR',
    cause: `${sentence(run.message)}${own} It has not been renewed in time, or the server has not loaded the new one.`,
    impact: impactOf(given, 'Nobody is refused yet: browsers and programs will be from that day on.'),
    next: `Renew the certificate of ${host} and have the server load it; see why it was not renewed by itself.`,
    evidence: [shown(run.message, 'error', ...run.files), ...companyItems(given)],
  };
}

/** TLS that works, and is weaker than the check allows. */
export function weakTls(given: Case): Conclusion | undefined {
  const { run } = given;
  if (run.code !== 'TLS_BASELINE_VIOLATED') return undefined;
  const isOfCertificate = run.details.baselinePart === 'certificate';
  return {
    certainty: 'CERTAIN',
    owner: 'target-or-check',
    classification: 'CONFIGURATION_ERROR',
    cause: `${given.target} makes TLS that is weaker than the baseline of the check allows. ${sentence(run.message)}`,
    impact: impactOf(given, 'Programs that have stricter terms than the agent refuse the connection.'),
    next: isOfCertificate
      ? `Install a certificate for ${run.host ?? given.target} whose key and signature, and those of its issuers, are strong enough; or lower the baseline of the check.`
      : 'Have the server allow newer versions of TLS and stronger ciphers alone, or lower the baseline of the check.',
    evidence: [shown(run.message, 'error', ...run.files), ...companyItems(given)],
  };
}

/** A server that goes on in plain text. */
export function refusedStartTls(given: Case): Conclusion | undefined {
  const { run, before } = given;
  if (run.code !== 'STARTTLS_REFUSED') return undefined;
  const changed = before
    ? ' It did when the check passed last: its configuration has changed, or something in between takes the offer out.'
    : '';
  return {
    certainty: 'LIKELY',
    owner: 'target',
    classification: 'CONFIGURATION_ERROR',
    cause: `${given.target} does not go on in TLS. ${sentence(run.message)}${changed}`,
    impact: impactOf(given, 'Programs that insist on TLS get nothing there; others speak in plain text.'),
    next: 'Look whether the server has a certificate and offers STARTTLS at this port, and whether a proxy or firewall before it rewrites what it says.',
    evidence: [shown(run.message, 'error', ...run.files), ...companyItems(given)],
  };
}
