import { daysLeft, expiryText } from '@picket/lib/figures/days-left.ts';
import type { CertificateProblem, HandshakeFacts } from '@picket/probes/tls/handshake-facts.ts';
import { type Failure, failure } from '../contract/failure.ts';
import { probeFailure } from '../judging/probe-failure.ts';
import { certificateName, type JudgedBaseline, judgedCertificates } from './baseline.ts';
import type { SslConfig } from './spec.ts';
import { chainExpiryMs, dayMs } from './view.ts';

/** Problems of a completed handshake, the worst first, and problems that only degrade it. */
export interface HandshakeVerdict {
  readonly failures: readonly Failure[];
  readonly degradedReasons: string[];
}

/** Judges the certificates and the baseline; the common code for all types judges assertions and times. */
export function judgeHandshake(
  handshake: HandshakeFacts,
  config: SslConfig,
  baseline: JudgedBaseline,
  nowMs: number,
): HandshakeVerdict {
  const { trustProblem, nameProblem } = handshake;
  const failures: Failure[] = [];
  const invalid = ({ message, details }: Pick<CertificateProblem, 'message' | 'details'>) =>
    failures.push(probeFailure({ kind: 'certificate-invalid', message, details }));
  if (config.skipChainValidation) {
    if (trustProblem && handshake.chain.length === 0) invalid(trustProblem);
    const outOfDate = dateProblem(handshake, nowMs);
    if (outOfDate !== undefined) invalid(outOfDate);
  } else if (trustProblem) {
    invalid(trustProblem);
  }
  if (nameProblem && handshake.chain.length > 0) invalid(nameProblem);
  failures.push(
    ...baseline.failures.map(({ sentence, part }) =>
      failure('TLS_BASELINE_VIOLATED', sentence, { baselinePart: part }),
    ),
  );
  const expiring = expiryOf(handshake, config, nowMs);
  if (expiring?.isFailure) failures.push(failure('TLS_CERTIFICATE_EXPIRING', expiring.sentence));
  const soon = expiring && !expiring.isFailure ? [expiring.sentence] : [];
  return { failures, degradedReasons: [...baseline.degradations, ...soon] };
}

/** Checks the dates: for an untrusted chain, OpenSSL's error may not mention them. */
function dateProblem(
  handshake: HandshakeFacts,
  nowMs: number,
): Pick<CertificateProblem, 'message' | 'details'> | undefined {
  const clockAt = new Date(nowMs).toISOString();
  const clock = `this host's clock says ${clockAt}`;
  const problem = (message: string) => ({ message, details: { clockAt } });
  for (const certificate of judgedCertificates(handshake)) {
    const { notBeforeMs, notAfterMs } = certificate;
    const name = certificateName(certificate);
    if (!(notAfterMs >= nowMs)) return problem(`${name} has expired; ${clock} [CERT_HAS_EXPIRED]`);
    if (!(notBeforeMs <= nowMs)) return problem(`${name} is not yet valid; ${clock} [CERT_NOT_YET_VALID]`);
  }
  return undefined;
}

function expiryOf(
  handshake: HandshakeFacts,
  { alertDaysBeforeExpiry: alertDays, failDaysBeforeExpiry: failDays }: SslConfig,
  nowMs: number,
): { readonly isFailure: boolean; readonly sentence: string } | undefined {
  const expiryMs = chainExpiryMs(handshake);
  // An expired certificate has its own message.
  if (expiryMs === undefined || expiryMs < nowMs) return undefined;
  const isWithin = (days: number | null) => days !== null && expiryMs - nowMs <= days * dayMs;
  const isFailure = isWithin(failDays);
  if (!isFailure && !isWithin(alertDays)) return undefined;
  const sentence = `A certificate ${expiryText(daysLeft(expiryMs, nowMs))}, on ${new Date(expiryMs).toISOString()}`;
  return { isFailure, sentence };
}
