import { errorCodeOf } from '@picket/lib/errors.ts';
import { hostAndPort } from '../address.ts';
import { ProbeError, type ProbeErrorDetails, type ProbePhase } from './errors.ts';
import type { ConnectionTarget } from './target.ts';

/** How far a connection has come. */
interface Progress {
  readonly phase: ProbePhase;
  readonly isOpen: boolean;
  readonly address: string | null;
}

/** The peer of the present step of a connection, for programs. */
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
 * Why TLS failed, where that is behind an error: in TLS 1.3 a server refuses a client's certificate after the
 * handshake, and all that is heard of it afterwards is that the connection was closed.
 */
export function explainedBy(tlsError: Error | undefined, error: Error): Error {
  const isAboutItsEnd = !(error instanceof ProbeError) || error.kind === 'connection-reset';
  const isOfTls = errorCodeOf(tlsError)?.startsWith('ERR_SSL_') === true;
  return isAboutItsEnd && isOfTls && tlsError ? tlsError : error;
}
