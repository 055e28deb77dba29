import type { CertificateFacts } from '@picket/probes/connection/certificate.ts';
import type { HttpProbeResult } from '@picket/probes/http/probe.ts';
import type { z } from 'zod';
import { familyName } from '../contract/ip-family.ts';
import { assertionSchema, type Comparison } from '../judging/assertion.ts';
import type { SourceValue } from '../judging/evaluate.ts';
import { certificateDetail } from './certificate.ts';

/**
 * Properties of `CONNECTION` assertions; all but the address and its family are numbers, so that `GREATER_THAN 1.1`
 * works.
 */
const tcpProperties = ['tlsVersion', 'certificateDaysRemaining', 'ipAddress', 'ipFamily'] as const;
const httpProperties = ['httpVersion', ...tcpProperties, 'redirectCount'] as const;

/**
 * Returns the assertion schema of a check type that connects: its own sources, and `CONNECTION` with one of its
 * properties.
 */
function schemaWith<
  const Source extends readonly [string, ...string[]],
  const Allowed extends readonly [Comparison, ...Comparison[]],
>(properties: readonly string[], sources: Source, allowed: Allowed) {
  const schema = assertionSchema([...sources, 'CONNECTION'] as const, allowed);
  return schema.superRefine((assertion: z.output<typeof schema>, context) => {
    if (assertion.source !== 'CONNECTION' || properties.includes(assertion.property)) return;
    const message = `must be one of [${properties.join(', ')}] for CONNECTION`;
    context.addIssue({ code: 'custom', path: ['property'], message });
  });
}

/** Returns the assertion schema of a check type over HTTP. */
export function httpAssertionSchema<
  const Source extends readonly [string, ...string[]],
  const Allowed extends readonly [Comparison, ...Comparison[]],
>(sources: Source, allowed: Allowed) {
  return schemaWith(httpProperties, sources, allowed);
}

/** Returns the assertion schema of a check type over a plain connection. */
export function tcpAssertionSchema<
  const Source extends readonly [string, ...string[]],
  const Allowed extends readonly [Comparison, ...Comparison[]],
>(sources: Source, allowed: Allowed) {
  return schemaWith(tcpProperties, sources, allowed);
}

interface Connected {
  readonly certificate: CertificateFacts | undefined;
  readonly address: string | null;
}

/** Fields of any connection. Absent parts (TLS, a certificate) are null. */
function connectionFields({ certificate, address }: Connected) {
  const shown = certificateDetail(certificate);
  const tlsVersion = /^TLSv([\d.]+)$/.exec(shown?.protocol ?? '')?.[1];
  return {
    tlsVersion: tlsVersion === undefined ? null : Number(tlsVersion),
    certificateDaysRemaining: shown?.daysRemaining ?? null,
    ipAddress: address,
    ipFamily: familyName(address),
  } satisfies Record<(typeof tcpProperties)[number], unknown>;
}

export function tcpConnectionSource(result: Connected): SourceValue {
  return { kind: 'fields', fields: connectionFields(result) };
}

/** The last connection of the chain, with the certificate of the chain that expires first. */
export function connectionSource(result: HttpProbeResult): SourceValue {
  const { head, redirectCount } = result;
  const fields: Readonly<Record<(typeof httpProperties)[number], unknown>> = {
    ...connectionFields(result),
    httpVersion: head ? Number(head.httpVersion) : null,
    redirectCount,
  };
  return { kind: 'fields', fields };
}
