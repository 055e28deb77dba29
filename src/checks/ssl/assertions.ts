import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import type { z } from 'zod';
import { type Assertion, assertionSchema } from '../judging/assertion.ts';

/** Properties of `CERTIFICATE` assertions: the target's own certificate, and its chain. */
export const certificateProperties = [
  'daysUntilExpiry',
  'chainDaysUntilExpiry',
  'keySizeBits',
  'subjectCN',
  'issuerCN',
  'serialNumber',
  'fingerprintSha256',
  'issuerFingerprintSha256',
  'keyAlgorithm',
  'signatureAlgorithm',
  'sans',
  'selfSigned',
  'isCA',
  'sctCount',
  'chainLength',
] as const;

/** Properties of `CONNECTION` assertions. */
export const connectionProperties = [
  'tlsVersion',
  'cipherSuite',
  'alpnProtocol',
  'keyExchange',
  'hostnameVerified',
  'chainTrusted',
  'ocspStapled',
  'ocspStatus',
  'resolvedIp',
  'ipFamily',
] as const;

const propertiesOf: Readonly<Record<string, readonly string[]>> = {
  CERTIFICATE: certificateProperties,
  CONNECTION: connectionProperties,
};

const schema = () =>
  assertionSchema(
    ['CERTIFICATE', 'CONNECTION', 'RESPONSE_TIME', 'JSON_RESPONSE', 'TEXT_RESPONSE'],
    [
      'EQUALS',
      'NOT_EQUALS',
      'GREATER_THAN',
      'LESS_THAN',
      'CONTAINS',
      'NOT_CONTAINS',
      'IS_EMPTY',
      'NOT_EMPTY',
      'IS_NULL',
      'NOT_NULL',
    ],
  );

export const SslAssertion = lazySchema(() =>
  schema().superRefine(({ source, property }: z.output<ReturnType<typeof schema>>, context) => {
    const properties = propertiesOf[source];
    if (!properties || properties.includes(property)) return;
    const message = `must be one of [${properties.join(', ')}] for ${source}`;
    context.addIssue({ code: 'custom', path: ['property'], message });
  }),
);

const hexadecimal: ReadonlySet<string> = new Set([
  'serialNumber',
  'fingerprintSha256',
  'issuerFingerprintSha256',
]);

/**
 * Normalizes an assertion's target to the notation of results: `TLSv1.2` and `TLS1.2` are the number 1.2, so that
 * `GREATER_THAN` has a meaning, and hexadecimal numbers have neither colons nor capitals.
 */
export function withUsualTarget(assertion: Assertion): Assertion {
  const { source, property, target } = assertion;
  if (source === 'CONNECTION' && property === 'tlsVersion') {
    return { ...assertion, target: target.replace(/^TLSv?\s*(?=1)/i, '') };
  }
  if (source === 'CERTIFICATE' && hexadecimal.has(property)) {
    return { ...assertion, target: target.replaceAll(/[:\s]/g, '').toLowerCase() };
  }
  return assertion;
}
