import { createHash } from 'node:crypto';

/**
 * The id the result of a lease will have. It follows from run and lease number, so that the same report always carries
 * the same id, and the service knows it without storing it.
 */
export function resultIdOf(runId: string, leaseNumber: number): string {
  const hex = createHash('sha256').update(`${runId}/${leaseNumber}`).digest('hex');
  // Laid out as a version 8 UUID (RFC 9562): free-form bits but for version and variant.
  const variant = ((Number.parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(18, 20)}-${hex.slice(20, 32)}`;
}
