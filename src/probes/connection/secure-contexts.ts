import { createSecureContext, type SecureContext } from 'node:tls';
import { LruMap } from '@picket/lib/lru.ts';
import { ProbeError, type ProbePhase } from './errors.ts';

/** Client certificate for a target, in PEM. `ca` replaces the trusted roots for that target. */
export interface ClientIdentity {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string | null | undefined;
  readonly passphrase?: string | null | undefined;
}

/** A trusted authority needs no trusted issuer above it, as in curl and browsers. */
const allowPartialTrustChain = true;

/** Everything OpenSSL supports, so that keys, signatures and protocols too weak to trust can be inspected. */
const lenientTerms = { minVersion: 'TLSv1', ciphers: 'DEFAULT:@SECLEVEL=0' } as const;

const contexts = new LruMap<string, SecureContext>(200);

/**
 * Returns the TLS settings for a client certificate, or the defaults (this thread's trusted authorities, see
 * lib/ca-directory.ts). Contexts are cached because parsing PEM takes up to milliseconds.
 *
 * @param isLenient accepts parameters too weak to trust, for inspection.
 * @throws Error of OpenSSL if certificate, key and passphrase do not match.
 */
export function secureContextFor(identity: ClientIdentity | undefined, isLenient = false): SecureContext {
  const terms = { allowPartialTrustChain, ...(isLenient && lenientTerms) };
  if (!identity) return contexts.getOrMake(`${isLenient}`, () => createSecureContext(terms));
  const { cert, key, ca, passphrase } = identity;
  return contexts.getOrMake([isLenient, cert, key, ca ?? '', passphrase ?? ''].join('\0'), () =>
    createSecureContext({
      cert,
      key,
      ca: ca ?? undefined,
      passphrase: passphrase ?? undefined,
      ...terms,
    }),
  );
}

/** The same, or the error of a check whose client certificate cannot be used. */
export function usableContext(
  identity: ClientIdentity | undefined,
  phase: ProbePhase,
  isLenient = false,
): SecureContext | ProbeError {
  try {
    return secureContextFor(identity, isLenient);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    return new ProbeError('request-invalid', phase, `the client certificate is unusable: ${reason}`);
  }
}
