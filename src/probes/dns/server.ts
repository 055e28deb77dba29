import { hostAndPort, type IpFamily, literalAddress, type ResolvedAddress } from '../address.ts';
import { classifyError, ProbeError } from '../connection/errors.ts';
import type { Resolver } from '../resolver.ts';
import { type QueryControls, withinLimits } from './limits.ts';

/** A name server at a known address. */
export interface DnsServer {
  /** Its name, which its certificate must match, or the address itself. */
  readonly hostname: string;
  readonly address: string;
  readonly family: IpFamily;
  readonly port: number;
  /** Path and query of a DNS-over-HTTPS server; defaults to `/dns-query`. */
  readonly path?: string | undefined;
}

/** Formats a server for messages. */
export function serverText({ hostname, address, port }: DnsServer): string {
  if (hostname === address) return hostAndPort(address, port);
  return `${hostAndPort(hostname, port)} (${address})`;
}

/**
 * Resolves the address of a name server: the first one, IPv4 before IPv6.
 *
 * @throws ProbeError if the name has no address or the lookup times out.
 */
export async function locateServer(
  named: Pick<DnsServer, 'hostname' | 'port' | 'path'>,
  resolver: Resolver,
  controls: Pick<QueryControls, 'signal' | 'timeoutMs'>,
): Promise<DnsServer> {
  const { hostname } = named;
  const literal = literalAddress(hostname);
  if (literal) return { ...named, ...literal };
  const expired = () => {
    const message = `the name server's own name ${hostname} was not resolved in time`;
    return new ProbeError('resolver-unavailable', 'dns', message, 'ETIMEDOUT');
  };
  const addresses = await withinLimits<readonly ResolvedAddress[]>(
    controls,
    hostname,
    ({ resolve, reject }) => {
      const stop = new AbortController();
      let isOver = false;
      resolver
        .resolve(hostname, 'any', { signal: stop.signal })
        .finally(() => {
          isOver = true;
        })
        .then(resolve, (thrown: unknown) => reject(classifyError(thrown, 'dns', hostname)));
      // Only if needed: an abort creates an error with a stack, which costs more than a query.
      return () => {
        if (!isOver) stop.abort();
      };
    },
    expired,
  );
  const [first] = addresses;
  if (!first) throw new Error('the resolver returned neither an address nor an error');
  return { ...named, ...first };
}
