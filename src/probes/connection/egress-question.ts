import type { ConnectionPolicy, EgressRefusal } from '../egress/policy.ts';
import type { ConnectionTarget } from './target.ts';

/**
 * Checks the resolved address, to which the caller then connects without another lookup. With a proxy, that is the
 * proxy's address; the target is resolved by the proxy and checked by its name and port.
 */
export function egressRefusal(
  egress: ConnectionPolicy,
  { proxy, hostname, port }: ConnectionTarget,
  address: string,
): EgressRefusal | undefined {
  if (!proxy) return egress.refusal({ hostname, address, port });
  return (
    egress.refusal({ hostname: proxy.hostname, address, port: proxy.port }) ??
    egress.refusal({ hostname, port })
  );
}
