import { expect, it } from 'vitest';
import type { HopAnswer } from './hop-prober.ts';
import { routeText } from './route-text.ts';
import type { Route } from './traceroute.ts';

const exceeded = { type: 11, code: 0 };
const answer = (
  address: string | null,
  rttMs: number | null,
  error: typeof exceeded | null = exceeded,
): HopAnswer => ({
  kind: 'answer',
  address,
  rttMs,
  error,
});
const silence: HopAnswer = { kind: 'silence' };
const textOf = (route: Route) =>
  routeText(route, {
    hostname: 'example.com',
    address: '192.0.2.7',
    family: 4,
    startedAt: new Date(0),
    means: 'ICMP datagram sockets',
  });

it('has columns: silent hops, several routers at a distance, errors', () => {
  const route: Route = {
    end: 'unreachable',
    distance: null,
    hops: [
      { ttl: 1, answers: [answer('10.0.0.1', 0.1234), answer('10.0.0.1', 1), answer('10.0.0.1', 12.5)] },
      { ttl: 2, answers: [silence, silence, silence] },
      { ttl: 3, answers: [answer('203.0.113.250', 20), silence, answer('203.0.113.9', 21.0004)] },
      { ttl: 4, answers: [answer(null, null), answer('198.51.100.1', 30, { type: 3, code: 13 }), silence] },
    ],
  };
  expect(textOf(route)).toBe(
    [
      'traceroute to example.com (192.0.2.7), 30 hops max, 3 ICMP echo requests each',
      'started 1970-01-01T00:00:00.000Z with ICMP datagram sockets',
      '',
      ' 1  10.0.0.1         0.123 ms    1.000 ms   12.500 ms',
      ' 2  *                       *           *           *  no reply',
      ' 3  203.0.113.250   20.000 ms           *',
      '    203.0.113.9     21.000 ms',
      ' 4  (unknown)            ? ms           *',
      '    198.51.100.1    30.000 ms  packet filtered (type 3, code 13)',
      '',
      'the last hop reports that there is no route (it ended in hop 4, 198.51.100.1)',
      '',
    ].join('\n'),
  );
});

it('shows the address of a target that forwards the requests to a host behind it', () => {
  const hops = [
    { ttl: 1, answers: [answer('192.0.2.7', 1)] },
    { ttl: 2, answers: [answer('192.0.2.7', 2, null)] },
  ];
  expect(textOf({ end: 'reached', distance: 1, hops })).toContain(
    'the target responded in hop 1, which forwards the probes to a host in hop 2',
  );
});

it('mentions probes that were not sent', () => {
  const hops = [{ ttl: 1, answers: [{ kind: 'unsent', errno: 'ENETUNREACH' } as const] }];
  expect(textOf({ end: 'unsent', distance: null, hops })).toContain(
    ' 1  *           *  not sent: ENETUNREACH',
  );
  expect(textOf({ end: 'time-limit', distance: null, hops: [] })).toContain(
    'the time limit was reached (it ended before the first hop)',
  );
});
