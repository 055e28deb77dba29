import { certificateWords } from '@picket/checks/contract/facts.ts';
import type { CertificateFlaw } from '@picket/checks/contract/failure-details.ts';
import { certificateFlawIn, handshakeProblemIn } from '@picket/checks/foreign-texts/tls.ts';
import { type Conclusion, shown } from '../../conclusion.ts';
import { type AnalysisInput, impactOf } from '../../run-view/case.ts';
import { companyItems, sentence } from '../location.ts';

/** An invalid certificate, and the reason. */
export function badCertificate(given: AnalysisInput): Conclusion | undefined {
  const { run } = given;
  if (run.code !== 'TLS_CERTIFICATE_INVALID') return undefined;
  const flaw = run.details.certificateFlaw ?? certificateFlawIn(run.message);
  const { certainty, cause, next } = explained(given, flaw);
  const { certificate } = run;
  const seen = certificate ? certificateWords(certificate) : run.message;
  return {
    certainty,
    owner: 'target',
    classification: 'CONFIGURATION_ERROR',
    cause,
    impact: impactOf(given, 'Browsers and other clients that verify certificates refuse the connection.'),
    next,
    evidence: [shown(seen, 'certificate'), shown(run.message, 'error', ...run.files), ...companyItems(given)],
  };
}

function explained(
  given: AnalysisInput,
  flaw: CertificateFlaw | undefined,
): Pick<Conclusion, 'certainty' | 'cause' | 'next'> {
  const { run, before } = given;
  const host = run.host ?? given.target;
  const { subject, issuer, validTo } = run.certificate ?? { subject: null, issuer: null, validTo: null };
  const clock = run.details.clockAt;
  switch (flaw) {
    case 'expired': {
      // The expired certificate may be another one in the chain, and the clock of the host may be wrong.
      const isLeaf = validTo !== null && validTo <= run.result.startedAt;
      return {
        certainty: isLeaf ? 'CERTAIN' : 'LIKELY',
        cause: isLeaf
          ? `The certificate of ${host} expired on ${validTo}.`
          : `A certificate in the chain of ${host} has expired${validTo === null ? '' : `; the certificate of the host itself is valid until ${validTo}`}${clock ? `. The clock of the agent shows ${clock}` : ''}.`,
        next: `Renew the certificate of ${host} and have the server load it; find out why it was not renewed automatically.`,
      };
    }
    case 'early':
    case 'dated': {
      const isOver = flaw === 'dated' && validTo !== null && validTo <= run.result.startedAt;
      return {
        certainty: 'LIKELY',
        cause:
          flaw === 'dated'
            ? `The certificate of ${host} ${isOver ? `expired on ${validTo}` : 'has expired or is not valid yet'}, according to the browser.`
            : `The certificate of ${host} is not valid yet${clock ? `, according to the clock of the agent (${clock})` : ''}: it was installed too early, or that clock is slow.`,
        next: `Install a certificate that is valid now; check that the clock of the agent is right.`,
      };
    }
    case 'name':
      return {
        certainty: 'CERTAIN',
        cause: `The certificate that ${given.target} presents is not for the name ${host}${subject === null ? '' : `, but for ${subject}`}. ${sentence(run.message)}${before?.certificate?.subject && before.certificate.subject !== subject ? ` At the last pass it was for ${before.certificate.subject}.` : ''}`,
        next: `Have the server present the certificate of ${host}: the virtual host is wrong, or a new certificate lacks the name.`,
      };
    case 'self-signed':
    case 'issuer': {
      const swapped =
        before?.certificate?.issuer && issuer !== null && before.certificate.issuer !== issuer
          ? ` At the last pass the issuer was ${before.certificate.issuer}.`
          : '';
      return {
        certainty: 'CERTAIN',
        cause: `The certificate of ${host}${issuer === null ? '' : `, issued by ${issuer},`} does not lead to an authority that the location ${run.result.location} trusts.${swapped} Either the server does not send the intermediate certificates, or the authority is private.`,
        next: `Have the server send its whole chain; for a private authority, add its certificate to the agents (custom CA certificates).`,
      };
    }
    case 'revoked':
      return {
        certainty: 'CERTAIN',
        cause: `The certificate of ${host} was revoked by its authority.`,
        next: `Install a new certificate for ${host}.`,
      };
    default:
      return {
        certainty: 'LIKELY',
        cause: `The certificate of ${host} is not accepted. ${sentence(run.message)}`,
        next: `Correct the certificate of ${host}; the message names the problem.`,
      };
  }
}

/** A handshake that failed before the certificate could be judged. */
export function failedHandshake(given: AnalysisInput): Conclusion | undefined {
  const { run, before } = given;
  if (run.code !== 'TLS_HANDSHAKE_FAILED') return undefined;
  const told = {
    impact: impactOf(given, 'Clients with the same TLS settings as the agent cannot connect.'),
    evidence: [shown(run.message, 'error', ...run.files), ...companyItems(given)],
  };
  const { message } = run;
  const problem = handshakeProblemIn(message);
  if (problem === 'version-or-cipher') {
    return {
      ...told,
      certainty: 'LIKELY',
      owner: 'target',
      classification: 'CONFIGURATION_ERROR',
      cause: `${given.target} and the agent share no TLS version or no cipher. ${sentence(message)}`,
      next: 'Look at the TLS versions and ciphers that the server allows; update a server that only supports insecure versions.',
    };
  }
  if (problem === 'client-certificate') {
    return {
      ...told,
      certainty: 'LIKELY',
      owner: 'target-or-check',
      classification: 'CONFIGURATION_ERROR',
      cause: `${given.target} requires a client certificate, or does not accept the one it got. ${sentence(message)}`,
      next: 'Add a client certificate for this host to the account, or renew it.',
    };
  }
  if (problem === 'no-tls') {
    return {
      ...told,
      certainty: 'LIKELY',
      owner: 'target-or-check',
      classification: 'CONFIGURATION_ERROR',
      cause: `The server at ${given.target} does not speak TLS. ${sentence(message)}`,
      next: 'Connect without TLS, or enable TLS on this port of the server.',
    };
  }
  return {
    ...told,
    certainty: 'LIKELY',
    owner: 'target',
    classification: 'INFRASTRUCTURE_ERROR',
    cause: `${given.target} accepted the connection and closed it during the TLS handshake. ${sentence(message)}${before ? ' The check passed before: the server, or a load balancer in front of it, has changed or fails.' : ''}`,
    next: 'Look at the log of the server or of the load balancer in front of it: it shows why the handshake ended.',
  };
}
