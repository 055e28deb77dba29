import { distanceWords } from '@picket/lib/figures/distance.ts';
import { answeringAddress } from '@picket/lib/wire/canonical-address.ts';
import type { TracerouteDetail, TracerouteHop } from './detail.ts';

type Response = NonNullable<TracerouteDetail['response']>;

/** Fields of a stored path. */
interface TracedRoute extends Pick<Response, 'resolvedIp' | 'destinationReached'> {
  readonly hops: readonly Pick<TracerouteHop, 'hopNumber' | 'ips' | 'error'>[];
}

/**
 * Returns the hop that has the address of the target and forwards the probes to a host behind it (DNAT, a port
 * forwarding, a load balancer); null without one. It sends "time exceeded" from the address of the target.
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

/** Describes the position of a target that replied. */
export function targetWords({ totalHops, hops }: Pick<Response, 'totalHops' | 'hops'>): string {
  return `yes, ${distanceWords(totalHops, hops.length)}`;
}
