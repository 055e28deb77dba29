import { randomBytes } from 'node:crypto';
import { matchesGlob } from '@picket/lib/text.ts';

/** Trace context of a run's requests (W3C Trace Context, level 1). */
export interface RequestTrace {
  /** `00-TRACE-SPAN-01`: sampled, because the check requests the trace. */
  readonly traceparent: string;
  /** Whether to send it to a host. */
  readonly isFor: (hostname: string) => boolean;
}

/**
 * Creates a trace for a request; undefined if no host is to receive one, or the check sets the header itself.
 *
 * @param headers alternating names and values.
 */
export function traceOf(hosts: readonly string[], headers: readonly string[]): RequestTrace | undefined {
  const isWritten = headers.some((text, index) => index % 2 === 0 && text.toLowerCase() === 'traceparent');
  if (hosts.length === 0 || isWritten) return undefined;
  const patterns = hosts.map((host) => host.toLowerCase());
  const [traceId, spanId] = [randomBytes(16), randomBytes(8)].map((bytes) => bytes.toString('hex'));
  return {
    traceparent: `00-${traceId}-${spanId}-01`,
    isFor: (hostname) => patterns.some((pattern) => matchesGlob(hostname.toLowerCase(), pattern)),
  };
}
