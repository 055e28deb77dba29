import type { DnsDetail } from '../../checks/dns/detail.ts';
import type { HttpDetail, HttpTimingPhases } from '../../checks/http/detail.ts';
import type { TcpDetail } from '../../checks/tcp/detail.ts';
import { shortened } from '../elements/format.ts';
import { visible } from '../elements/text.ts';
import type { Phase } from '../elements/waterfall.ts';

type Part = readonly [name: string, kind: Phase['kind'], lengthMs: number];

/**
 * Phases of a request, one after the other; those that took no time are left out. Each redirect before it is a
 * bar of its own: the stored phases are sums over the chain.
 */
export function httpPhases({ response }: HttpDetail): Phase[] {
  const { timingPhases: phases, redirects = [] } = response;
  if (!phases) return [];
  const last = (name: keyof HttpTimingPhases) =>
    Math.max(
      0,
      redirects.reduce((rest, { timingPhases }) => rest - timingPhases[name], phases[name]),
    );
  const [wait, dns, proxy, tcp] = [last('wait'), last('dns'), last('proxy'), last('tcp')];
  const [tls, firstByte, download] = [last('tls'), last('firstByte'), last('download')];
  return inARow([
    ...redirects.map(
      ({ href, status, timingPhases }): Part => [redirectName(status, href), 'other', timingPhases.total],
    ),
    ['Waiting for a socket', 'wait', wait],
    ['Name (DNS)', 'dns', dns],
    ['Connection (TCP)', 'tcp', tcp],
    ['Proxy', 'proxy', proxy],
    ['Encryption (TLS)', 'tls', tls],
    // The stored phase holds those of the proxy and of TLS.
    ['Waiting for the answer', 'first-byte', Math.max(0, firstByte - tls - proxy)],
    ['Download', 'download', download],
  ]);
}

/** `302 shop.example.com`, as short as the waterfall has room for. */
function redirectName(status: number, href: string): string {
  return shortened(visible(`${status} ${URL.parse(href)?.host ?? href}`), 22);
}

export function tcpPhases({ response }: TcpDetail): Phase[] {
  const { timingPhases: phases } = response;
  if (!phases) return [];
  return inARow([
    ['Name (DNS)', 'dns', phases.dns],
    ['Connection (TCP)', 'tcp', phases.connection],
    ['Encryption (TLS)', 'tls', phases.tls],
    ['Data', 'download', phases.data],
  ]);
}

export function dnsPhases({ response }: DnsDetail): Phase[] {
  return response.returnCode === ''
    ? []
    : inARow([['Answer of the name server', 'dns', response.responseTime]]);
}

/** What the agent itself took between the phases: shown apart, because it is no part of the response time. */
export function withAgentShare(phases: readonly Phase[], overheadMs: number): Phase[] {
  const last = phases.at(-1);
  if (!last || overheadMs <= 0) return [...phases];
  const startMs = last.startMs + last.lengthMs;
  return [...phases, { name: 'Agent itself', kind: 'agent', startMs, lengthMs: overheadMs, isApart: true }];
}

/** Phases one after the other; those that took no time are left out. */
export function inARow(parts: readonly Part[]): Phase[] {
  let startMs = 0;
  return parts.flatMap(([name, kind, lengthMs]) => {
    if (lengthMs <= 0) return [];
    const phase: Phase = { name, kind, startMs, lengthMs };
    startMs += lengthMs;
    return [phase];
  });
}
