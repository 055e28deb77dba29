import type { Route } from '@picket/probes/traceroute/traceroute.ts';
import { type Failure, failure } from '../contract/failure.ts';
import { forwardingHop } from './forwarding.ts';
import type { TracerouteSpec } from './spec.ts';
import { addressesOf, type Response } from './view.ts';

/** Returns why a path that does not reach the target is a failure; undefined if the target replied. */
export function routeFailure(
  response: Response,
  { hops, end }: Route,
  { maxHops, timeout }: TracerouteSpec['request'],
): Failure | undefined {
  if (response.destinationReached) return undefined;
  const target = response.resolvedIp ?? response.hostname;
  const { lastHop } = response;
  const last = lastHop && `hop ${lastHop.hopNumber} (${lastHop.ip ?? 'unknown'})`;
  const heard = last ? `the last response came from ${last}` : 'no router responded';
  const forwarding = forwardingHop(response);
  const forwards =
    forwarding === null ? undefined : `hop ${forwarding} has that address and forwards the probes`;
  switch (end) {
    case 'unreachable': {
      const says = response.hops.at(-1)?.error ?? 'there is no route';
      const router = lastHop?.ip ?? undefined;
      if (forwarding !== null) {
        const place = `ends behind hop ${forwarding}, which has that address and forwards the probes`;
        return failure('HOST_UNREACHABLE', `The path to ${target} ${place}: ${last} says: ${says}`, {
          router,
        });
      }
      return failure('HOST_UNREACHABLE', `The path to ${target} ends at ${last}, which says: ${says}`, {
        router,
      });
    }
    case 'hop-limit': {
      if (hops.length < maxHops) return silence(target, forwards, heard);
      const loop = loopOf(hops);
      const why = loop
        ? `its packets loop between ${loop.join(' and ')}`
        : forwards
          ? `${forwards}, and the host behind it is not among the first ${maxHops} hops`
          : `it is not among the first ${maxHops} hops; ${heard}`;
      return failure('NO_REPLY', `${target} was not reached: ${why}`, loop && { loop });
    }
    case 'time-limit': {
      const known = forwards ? `: ${forwards}, and the host behind it did not respond` : `; ${heard}`;
      return failure('NO_REPLY', `${target} was not reached within ${timeout} s${known}`);
    }
    default:
      return silence(target, forwards, heard);
  }
}

function silence(target: string, forwards: string | undefined, heard: string): Failure {
  const known = forwards === undefined ? `; ${heard}` : `: ${forwards}, and the host behind it is silent`;
  return failure('NO_REPLY', `${target} does not respond${known}`);
}

const longestLoop = 6;

/** Returns the routers of a routing loop at the end of the path, if there is one. */
function loopOf(hops: Route['hops']): string[] | undefined {
  const path = hops.map((hop) => addressesOf(hop)[0]);
  for (let length = 2; length <= longestLoop && path.length >= 3 * length; length += 1) {
    const end = path.slice(-3 * length);
    const isLoop = end.every((address, index) => address !== undefined && address === end[index % length]);
    if (isLoop && new Set(end).size > 1) return [...new Set(end)].filter((address) => address !== undefined);
  }
  return undefined;
}

/** Returns why this host could not send a probe, if the path is unknown because of that. */
export function unsentErrno({ hops, end }: Route): string | undefined {
  if (end !== 'unsent') return undefined;
  return hops.flatMap(({ answers }) => answers).findLast((answer) => answer.kind === 'unsent')?.errno;
}
