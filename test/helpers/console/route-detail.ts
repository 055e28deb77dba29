import type { TracerouteDetail, TracerouteHop } from '../../../src/checks/traceroute/detail.ts';

/** Fields of a hop that is not a plain router. */
type HopFields = Partial<TracerouteHop> & { readonly ms?: number };

/** A hop with three probes that were answered in about that time; without an address, no router answered. */
function hop(
  hopNumber: number,
  ip: string | null,
  { ms = hopNumber, ...fields }: HopFields = {},
): TracerouteHop {
  return {
    hopNumber,
    mainIp: ip,
    mainHost: null,
    ips: ip === null ? [] : [ip],
    sent: 3,
    received: ip === null ? 0 : 3,
    lossPercentage: ip === null ? 100 : 0,
    rtt: ip === null ? null : { avg: ms, best: ms * 0.8, worst: ms * 1.5, stdDev: ms / 10 },
    error: null,
    ...fields,
  };
}

/**
 * A route of eight hops: named routers, silence, a hop with parallel paths. It reaches the target, or is refused before
 * it; or a ninth hop answers with the address of the target, which forwards the probes.
 */
export function routeDetail({
  isReached = true,
  isForwarded = false,
  thirdHop = '198.51.100.33',
  name = 'ae-1.r20.frankfurt-am-main.de.backbone.example.net',
}: {
  readonly isReached?: boolean;
  readonly isForwarded?: boolean;
  readonly thirdHop?: string;
  readonly name?: string;
} = {}): TracerouteDetail {
  const hops = [
    hop(1, '192.168.100.1', { mainHost: 'gateway.office.example', ms: 0.4 }),
    hop(2, '100.64.0.1', { ms: 4 }),
    hop(3, thirdHop, { mainHost: name, ms: 9 }),
    hop(4, null),
    hop(5, '2001:db8:85a3:1234:5678:8a2e:370:7334', { ms: 21, received: 1, lossPercentage: 66.667 }),
    hop(6, '203.0.113.9', { ips: ['203.0.113.9', '203.0.113.13', '203.0.113.17'], ms: 34 }),
    hop(7, '203.0.113.77', {
      ms: 60,
      ...(isReached ? {} : { error: 'destination host prohibited (type 3, code 10)' }),
    }),
    ...(isReached ? [hop(8, '203.0.113.200', { mainHost: 'shop.example.com', ms: 48 })] : []),
    ...(isForwarded ? [hop(9, '203.0.113.200', { ms: 49 })] : []),
  ];
  const final = isReached ? hops.at(-1) : undefined;
  return {
    assertions: [],
    request: {
      ...{ url: 'shop.example.com', protocol: 'TCP', port: 443, ipFamily: 'IPv4' },
      ...{ maxHops: 30, maxUnknownHops: 15, probesPerHop: 3 },
    },
    response: {
      ...{ hostname: 'shop.example.com', resolvedIp: '203.0.113.200', ipFamily: 'IPv4', protocol: 'TCP' },
      destinationReached: isReached,
      destinationPort: isReached ? 'open' : null,
      totalHops: isForwarded ? 8 : hops.length,
      lastHop: { hopNumber: isForwarded ? 8 : hops.length, ip: hops.at(-1)?.mainIp ?? null },
      truncationReason: isReached ? null : 'UNREACHABLE',
      finalHopLatency: final?.rtt ?? null,
      packetLoss: isReached ? 0 : 100,
      timingPhases: { dns: 1.5 },
      hops,
    },
    requestError: null,
    jobLog: null,
  };
}
