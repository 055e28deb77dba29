import { daysLeft } from '@picket/lib/figures/days-left.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { CertificateDetail } from './detail.ts';

/** A certificate as a probe has read it; see src/probes/connection/certificate.ts. */
interface CertificateFacts {
  readonly subject: string | null;
  readonly issuer: string | null;
  readonly validToMs: number;
  readonly chainValidToMs: number;
  readonly protocol: string | null;
  readonly cipher: string | null;
  readonly hostname?: string;
}

/** Returns the certificate as a result shows it; null without one, or if its dates are invalid. */
export function certificateDetail(facts: CertificateFacts | undefined): CertificateDetail | null {
  if (!facts || expiryOf(facts).certificateExpiresAt === undefined) return null;
  const { hostname, subject, issuer, validToMs, chainValidToMs, protocol, cipher } = facts;
  return {
    ...(hostname !== undefined && { host: hostname }),
    subject,
    issuer,
    validTo: new Date(validToMs).toISOString(),
    daysRemaining: daysLeft(chainValidToMs, Date.now()),
    protocol,
    cipher,
  };
}

/** The part of an outcome that states when the target's certificate expires. */
export function expiryOf(
  facts: CertificateFacts | undefined,
): Pick<Outcome<unknown>, 'certificateExpiresAt'> {
  // A certificate may contain any bytes in place of its dates.
  const isDated = facts && Number.isFinite(facts.validToMs) && Number.isFinite(facts.chainValidToMs);
  return isDated ? { certificateExpiresAt: facts.chainValidToMs } : {};
}
