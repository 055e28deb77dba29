import type { z } from 'zod';
import type { HttpProbeResult } from '../../probes/http/probe.ts';
import { assertionSchema, type Comparison } from '../judging/assertion.ts';
import type { SourceValue } from '../judging/evaluate.ts';
import { certificateDetail } from './certificate.ts';

/** What `CONNECTION` assertions can look at; all but the address are numbers, so that `GREATER_THAN 1.1` works. */
const properties = [
  'httpVersion',
  'tlsVersion',
  'certificateDaysRemaining',
  'redirectCount',
  'ipAddress',
] as const;
type Property = (typeof properties)[number];

/** The assertions of a check type over HTTP: its own sources, and `CONNECTION` with one of its properties. */
export function httpAssertionSchema<
  const Source extends readonly [string, ...string[]],
  const Allowed extends readonly [Comparison, ...Comparison[]],
>(sources: Source, allowed: Allowed) {
  const schema = assertionSchema([...sources, 'CONNECTION'] as const, allowed);
  return schema.superRefine((assertion: z.output<typeof schema>, context) => {
    if (assertion.source !== 'CONNECTION' || properties.some((name) => name === assertion.property)) return;
    const message = `must be one of [${properties.join(', ')}] for CONNECTION`;
    context.addIssue({ code: 'custom', path: ['property'], message });
  });
}

/** The last connection of the chain. What it did not have (TLS, a certificate) is null. */
export function connectionSource({
  head,
  certificate,
  redirectCount,
  address,
}: HttpProbeResult): SourceValue {
  const shown = certificateDetail(certificate);
  const tlsVersion = /^TLSv([\d.]+)$/.exec(shown?.protocol ?? '')?.[1];
  const fields: Readonly<Record<Property, unknown>> = {
    httpVersion: head ? Number(head.httpVersion) : null,
    tlsVersion: tlsVersion === undefined ? null : Number(tlsVersion),
    certificateDaysRemaining: shown?.daysRemaining ?? null,
    redirectCount,
    ipAddress: address,
  };
  return { kind: 'fields', fields };
}
