import { percentText, shareOfPercent } from '@picket/lib/figures/share.ts';
import type { DetailSummary } from '../summary/detail-summary.ts';
import { code, fact, took } from '../summary/parts.ts';
import { probeParts } from '../summary/probe-parts.ts';
import type { IcmpDetail } from './detail.ts';

/** Summarizes an ICMP monitor's result for people. */
export function summaryOf(detail: IcmpDetail): DetailSummary {
  const { request, response } = detail;
  const { latency, packetLoss, packetsReceived, packetsSent, pingResults } = response;
  return {
    ...probeParts(detail),
    sections: [
      {
        title: 'Pings',
        facts: [
          fact('Target', code(request.hostname)),
          fact('Address', response.resolvedIp),
          fact('Answered', `${packetsReceived} of ${packetsSent}`),
          fact('Packet loss', packetLoss === null ? null : percentText(shareOfPercent(packetLoss))),
          fact('Average', took(latency?.avg)),
          fact('Slowest', took(latency?.max)),
        ],
        table: {
          caption: 'Echo requests',
          empty: 'No echo request was sent.',
          columns: [
            { title: '#', isNumber: true },
            { title: 'Round trip', isNumber: true },
            { title: 'TTL', isNumber: true },
            { title: 'From' },
            { title: 'Outcome' },
          ],
          rows: pingResults.map(({ sequence, rtt, ttl, from, error }) => [
            sequence + 1,
            took(rtt) ?? '–',
            ttl ?? '–',
            code(from) ?? '–',
            error ?? 'answered',
          ]),
        },
      },
    ],
  };
}
