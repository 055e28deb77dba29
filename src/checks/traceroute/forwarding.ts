import { distanceWords } from '@picket/lib/figures/distance.ts';
import { answeringAddress } from '@picket/lib/wire/canonical-address.ts';
import type { TracerouteDetail, TracerouteHop } from './detail.ts';

type Response = NonNullable<TracerouteDetail['response']>;

/** What a stored way says of its hops. */
interface TracedRoute extends Pick<Response, 'resolvedIp' | 'destinationReached'> {
  readonly hops: readonly Pick<TracerouteHop, 'hopNumber' | 'ips' | 'error'>[];
}

/**
 * The hop that has the address of the target and forwards the probes to a host behind it (DNAT, a port forwarding, a
 * load balancer); null without one. It answers "time exceeded" with the address of the target.
 */
export function forwardingHop({ resolvedIp, destinationReached, hops }: TracedRoute): number | null {
  if (resolvedIp === null) return null;
  const target = answeringAddress(resolvedIp);
  const hop = hops.find(({ ips }) => ips.includes(target));
  if (!hop) return null;
  const isLast = hop === hops.at(-1);
  const isEnd = isLast && (destinationReached || hop.error !== null);
  return isEnd ? null : hop.hopNumber;
}

/** Where a target that answered is. */
export function targetWords({ totalHops, hops }: Pick<Response, 'totalHops' | 'hops'>): string {
  return `yes, ${distanceWords(totalHops, hops.length)}`;
}
