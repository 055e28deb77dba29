import { isIP, type Socket } from 'node:net';
import { connect, type PeerCertificate, type SecureContext, type TLSSocket } from 'node:tls';
import type { ClientIdentity } from './secure-contexts.ts';
import type { TlsInspection } from './target.ts';

/** Handshake parameters, except the trusted certificates. */
export interface HandshakeOptions {
  /** The name that the certificate must match. */
  readonly hostname: string;
  readonly alpnProtocols: readonly string[];
  readonly clientIdentity?: ClientIdentity | undefined;
  readonly isCertificateChecked?: boolean | undefined;
  readonly inspection?: TlsInspection | undefined;
}

/** Begins TLS as the client on a connected socket; the ClientHello has been written when this returns. */
export function beginHandshake(
  socket: Socket,
  { hostname, alpnProtocols, isCertificateChecked = true, inspection }: HandshakeOptions,
  trust: {
    readonly secureContext: SecureContext;
    readonly checkServerIdentity?: (name: string, certificate: PeerCertificate) => Error | undefined;
  },
): TLSSocket {
  const secureSocket = connect({
    socket,
    host: hostname,
    // SNI does not allow addresses; RFC 6066 section 3: no trailing dot after a fully qualified name.
    servername: isIP(hostname) === 0 ? hostname.replace(/\.$/, '') : '',
    rejectUnauthorized: isCertificateChecked,
    ...trust,
    ...(alpnProtocols.length > 0 && { ALPNProtocols: [...alpnProtocols] }),
    ...(inspection && { requestOCSP: true }),
  });
  if (inspection) {
    secureSocket.on('OCSPResponse', (response: Buffer | null) => {
      if (response) inspection.onStaple(response);
    });
  }
  return secureSocket;
}
