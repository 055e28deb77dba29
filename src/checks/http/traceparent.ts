import { randomBytes } from 'node:crypto';
import { matchesGlob } from '@picket/lib/text.ts';

/** The trace of a run as its requests name it (W3C Trace Context, level 1). */
export interface RequestTrace {
  /** `00-TRACE-SPAN-01`: sampled, since the run was asked for. */
  readonly traceparent: string;
  /** Whether a host is to go on with it. */
  readonly isFor: (hostname: string) => boolean;
}

/**
 * A new trace for a request; undefined where no host is to go on with one, or the check writes the header itself.
 *
 * @param headers names and values in turn.
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
