import { createSecureContext, type SecureContext } from 'node:tls';
import { LruMap } from '@picket/lib/lru.ts';
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

/** Everything OpenSSL still knows: keys, signatures and protocols that are too weak to be trusted can still be looked at. */
const lenientTerms = { minVersion: 'TLSv1', ciphers: 'DEFAULT:@SECLEVEL=0' } as const;

const contexts = new LruMap<string, SecureContext>(200);

/**
 * The TLS settings for a client certificate, or the defaults (what this thread trusts, see
 * lib/ca-directory.ts). Parsing PEM costs up to milliseconds, so contexts are kept.
 *
 * @param isLenient takes what is too weak to be trusted, to look at it.
 * @throws Error of OpenSSL when certificate, key and passphrase do not fit together.
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
