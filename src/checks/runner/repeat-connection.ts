import { Connection } from '@picket/probes/connection/connection.ts';
import type { ProbeError } from '@picket/probes/connection/errors.ts';
import type { ForwardProxy } from '@picket/probes/connection/forward-proxy.ts';
import type {
  ConnectionOptions,
  ConnectionTarget,
  ContactAttempt,
} from '@picket/probes/connection/target.ts';
import type { Resolver } from '@picket/probes/resolver.ts';

/**
 * Repeats a connection, including TLS, and closes it before sending anything else.
 *
 * @returns its outcome, in words.
 */
export async function repeatConnection(
  target: Omit<ConnectionTarget, 'hostname' | 'port' | 'isSecure' | 'proxy'>,
  peer: ContactAttempt,
  controls: ConnectionOptions & { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<string> {
  const { hostname, port, isSecure } = peer;
  const connection = new Connection({ ...target, hostname, port, isSecure, proxy: undefined });
  const means = { ...controls, resolver: pinnedResolver(controls.resolver, peer) };
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

/** Returns why a failed connection cannot be diagnosed. */
export function connectionObstacle(
  { proxy }: { readonly proxy?: ForwardProxy | undefined },
  error: ProbeError | undefined,
): string | undefined {
  if (proxy) return 'the connection goes through a proxy';
  // After redirects, the last connection was to another host.
  return error?.phase === 'dns' ? 'the name has no address to connect to' : undefined;
}

/**
 * Resolves the peer's name to its known address, because another one might behave differently; resolves other names
 * normally.
 */
export function pinnedResolver(resolver: Resolver, { hostname, address }: ContactAttempt): Resolver {
  return {
    resolve: async (name, family) =>
      name === hostname
        ? [{ address, family: address.includes(':') ? 6 : 4 }]
        : await resolver.resolve(name, family),
  };
}
