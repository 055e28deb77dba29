import { Connection } from '../../probes/connection/connection.ts';
import type { ConnectionAttempt } from '../../probes/connection/target.ts';
import { type HttpProbeControls, type HttpProbeRequest, probeHttp } from '../../probes/http/probe.ts';
import type { Resolver } from '../../probes/resolver.ts';

/** Nobody reads what a repeated request brings. */
const maxBodyBytes = 64 * 1024;

/** Methods that change nothing at the target (RFC 9110 section 9.2.1): sending them again does no harm. */
const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD']);

export function isRepeatable(method: string): boolean {
  return safeMethods.has(method);
}

/**
 * Sends a request once more, to the address that it failed at.
 *
 * @returns what became of it, in words.
 */
export async function repeatRequest(
  request: HttpProbeRequest,
  peer: ConnectionAttempt,
  controls: HttpProbeControls,
): Promise<string> {
  const resolver = pinned(controls.resolver, peer);
  const result = await probeHttp({ ...request, maxBodyBytes }, { ...controls, resolver });
  if (result.error) return `failed again: ${result.error.message}`;
  return `was answered this time, with status ${result.head?.status}`;
}

/**
 * Makes the connection of a request once more, TLS included, and closes it before anything of a request is
 * sent.
 *
 * @returns what became of it, in words.
 */
export async function repeatConnection(
  request: HttpProbeRequest,
  peer: ConnectionAttempt,
  controls: HttpProbeControls,
): Promise<string> {
  const { hostname, port, isSecure } = peer;
  const connection = new Connection({
    hostname,
    port,
    isSecure,
    family: request.family,
    isCertificateChecked: request.isCertificateChecked,
    clientIdentity: isSecure ? request.clientIdentityFor?.(hostname) : undefined,
    proxy: undefined,
    alpnProtocols: ['h2', 'http/1.1'],
  });
  const means = { ...controls, resolver: pinned(controls.resolver, peer) };
  const limit = AbortSignal.timeout(Math.max(0, Math.floor(controls.timeoutMs)));
  const signal = AbortSignal.any([controls.signal, limit]);
  const { promise, resolve } = Promise.withResolvers<string>();
  const stop = () =>
    resolve(`was still ${isSecure ? 'connecting or negotiating TLS' : 'connecting'} at the end`);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  else connection.open(means, (error) => resolve(error ? `failed: ${error.message}` : 'was made'));
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', stop);
    connection.destroy();
  }
}

/**
 * Looks a name up as ever, but for the peer's: its address is known, and another one would show something
 * else.
 */
function pinned(resolver: Resolver, { hostname, address }: ConnectionAttempt): Resolver {
  return {
    resolve: async (name, family) =>
      name === hostname
        ? [{ address, family: address.includes(':') ? 6 : 4 }]
        : await resolver.resolve(name, family),
  };
}
