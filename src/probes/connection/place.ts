import { errorCodeOf } from '@picket/lib/errors.ts';
import { hostAndPort } from '../address.ts';
import { ProbeError, type ProbeErrorDetails, type ProbePhase } from './errors.ts';
import type { ConnectionTarget } from './target.ts';

/** Progress of a connection. */
interface Progress {
  readonly phase: ProbePhase;
  readonly isOpen: boolean;
  readonly address: string | null;
}

/** The peer of a connection's current step, for programs. */
export function peerOf({ hostname, port, proxy }: ConnectionTarget, progress: Progress): ProbeErrorDetails {
  if (proxy) return { proxy: hostAndPort(proxy.hostname, proxy.port) };
  const { phase, isOpen, address } = progress;
  if (phase === 'dns') return {};
  return phase === 'tcp' && !isOpen && address !== null ? { address, port } : { host: hostname, port };
}

/** The same for messages. */
export function placeOf(
  { hostname, port, proxy }: ConnectionTarget,
  { phase, isOpen, address }: Progress,
): string {
  const target = hostAndPort(hostname, port);
  if (proxy) {
    const proxyName = `proxy ${hostAndPort(proxy.hostname, proxy.port)}`;
    return phase === 'proxy' && !isOpen ? proxyName : `${target} through ${proxyName}`;
  }
  if (phase === 'dns') return hostname;
  return phase === 'tcp' && !isOpen && address !== null ? hostAndPort(address, port) : target;
}

/**
 * Returns the TLS error that caused an error, or else the error itself: in TLS 1.3 a server refuses a client
 * certificate after the handshake, and the client afterwards sees only a closed connection.
 */
export function explainedBy(tlsError: Error | undefined, error: Error): Error {
  const isAboutItsEnd = !(error instanceof ProbeError) || error.kind === 'connection-reset';
  const isOfTls = errorCodeOf(tlsError)?.startsWith('ERR_SSL_') === true;
  return isAboutItsEnd && isOfTls && tlsError ? tlsError : error;
}
