import { createSecureContext, type SecureContext } from 'node:tls';
import { LruMap } from '../../lib/lru.ts';
import { ProbeError, type ProbePhase } from './errors.ts';

/** Client certificate for a target: PEM texts. `ca` replaces the trusted roots for that target. */
export interface ClientIdentity {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string | null | undefined;
  readonly passphrase?: string | null | undefined;
}

/** An authority that is trusted is trusted without the one above it, as curl and browsers do. */
const allowPartialTrustChain = true;

const contexts = new LruMap<string, SecureContext>(200);

/**
 * The TLS settings for a client certificate, or the defaults (what this thread trusts, see
 * lib/ca-directory.ts). Parsing PEM costs up to milliseconds, so contexts are kept.
 *
 * @throws Error of OpenSSL when certificate, key and passphrase do not fit together.
 */
export function secureContextFor(identity: ClientIdentity | undefined): SecureContext {
  if (!identity) return contexts.getOrMake('', () => createSecureContext({ allowPartialTrustChain }));
  const { cert, key, ca, passphrase } = identity;
  return contexts.getOrMake([cert, key, ca ?? '', passphrase ?? ''].join('\0'), () =>
    createSecureContext({
      cert,
      key,
      ca: ca ?? undefined,
      passphrase: passphrase ?? undefined,
      allowPartialTrustChain,
    }),
  );
}

/** The same, or the error of a check whose client certificate cannot be used. */
export function usableContext(
  identity: ClientIdentity | undefined,
  phase: ProbePhase,
): SecureContext | ProbeError {
  try {
    return secureContextFor(identity);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    return new ProbeError('request-invalid', phase, `the client certificate is unusable: ${reason}`);
  }
}
