import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';

export const tlsVersions = ['TLS1.0', 'TLS1.1', 'TLS1.2', 'TLS1.3'] as const;
export const severities = ['fail', 'degrade', 'ignore'] as const;
export type Severity = (typeof severities)[number];

const severity = (usual: Severity) => z.enum(severities).default(usual);
const rule = (usual: Severity) => z.object({ severity: severity(usual) }).prefault({});
const version = (value: (typeof tlsVersions)[number], usual: Severity) =>
  z.object({ value: z.enum(tlsVersions).default(value), severity: severity(usual) }).prefault({});
const bits = (value: number, usual: Severity) =>
  z.object({ value: z.int().min(512).max(16_384).default(value), severity: severity(usual) }).prefault({});

/** Rules for weak properties of a handshake, and the effect of each on the run. */
export const SecurityBaseline = lazySchema(() =>
  z
    .object({
      enabled: z.boolean().default(true),
      minTLSVersion: version('TLS1.2', 'fail'),
      minKeySizeBits: bits(2048, 'fail').describe(
        'Minimum RSA key size; elliptic-curve keys count as RSA keys of equal strength',
      ),
      weakSignatureAlgorithm: rule('fail').describe('MD2, MD5 or SHA-1'),
      weakCipherSuite: rule('fail').describe('NULL, EXPORT, RC2, RC4, DES, 3DES, MD5 or anonymous'),
      knownBadCA: rule('fail').describe('Certificate authorities that browsers no longer trust'),
      recommendedTLSVersion: version('TLS1.3', 'ignore'),
      recommendedKeySizeBits: bits(3072, 'ignore'),
      ocspMustStapleRespected: rule('ignore').describe(
        'A certificate that requires OCSP stapling has a stapled response',
      ),
      sctPresent: rule('ignore').describe('Certificate contains a signed certificate timestamp'),
    })
    .prefault({}),
);
export type SecurityBaseline = z.output<typeof SecurityBaseline.schema>;
