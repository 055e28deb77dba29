import type { ConnectionPolicy, EgressRefusal } from '../egress/policy.ts';
import type { ConnectionTarget } from './target.ts';

/**
 * Judges the resolved address itself, which is then connected to without another lookup. Through a proxy
 * that is the proxy's; the target, which the proxy resolves, is judged by what is known of it.
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
