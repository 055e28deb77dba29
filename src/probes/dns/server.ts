import { hostAndPort, type IpFamily, type ResolvedAddress } from '../address.ts';
import { classifyError, ProbeError } from '../connection/errors.ts';
import type { Resolver } from '../resolver.ts';
import { type QueryControls, withinLimits } from './limits.ts';

/** A name server at an address. */
export interface DnsServer {
  /** What it is called: a name, which its certificate has to be for, or the address itself. */
  readonly hostname: string;
  readonly address: string;
  readonly family: IpFamily;
  readonly port: number;
  /** Path and query of a DNS-over-HTTPS server; `/dns-query` when absent. */
  readonly path?: string | undefined;
}

/** A server as messages name it. */
export function serverText({ hostname, address, port }: DnsServer): string {
  if (hostname === address) return hostAndPort(address, port);
  return `${hostAndPort(hostname, port)} (${address})`;
}

/**
 * Looks up the address of a name server; of several the first, IPv4 before IPv6.
 *
 * @throws ProbeError when it has none, or none was found in time.
 */
export async function locateServer(
  named: Pick<DnsServer, 'hostname' | 'port' | 'path'>,
  resolver: Resolver,
  controls: Pick<QueryControls, 'signal' | 'timeoutMs'>,
): Promise<DnsServer> {
  const { hostname } = named;
  const expired = () => {
    const message = `the name server's own name ${hostname} was not resolved in time`;
    return new ProbeError('resolver-unavailable', 'dns', message, 'ETIMEDOUT');
  };
  const addresses = await withinLimits<readonly ResolvedAddress[]>(
    controls,
    hostname,
    ({ resolve, reject }) => {
      const stop = new AbortController();
      resolver
        .resolve(hostname, 'any', { signal: stop.signal })
        .then(resolve, (thrown: unknown) => reject(classifyError(thrown, 'dns', hostname)));
      return () => stop.abort();
    },
    expired,
  );
  const [first] = addresses;
  if (!first) throw new Error('the resolver returned neither an address nor an error');
  return { ...named, ...first };
}
