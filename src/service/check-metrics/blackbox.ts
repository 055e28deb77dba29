import { statusCodeDimension } from '@picket/checks/contract/metric.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { isMeasured } from '@picket/protocol/checks/check-state.ts';
import type { Family } from './exposition.ts';
import { labelOf, ofPlace } from './families.ts';

/** Phases of HTTP requests under the names of blackbox_exporter. */
const httpPhases = [
  ['dns', 'resolve'],
  ['tcp', 'connect'],
  ['firstByte', 'processing'],
  ['download', 'transfer'],
  // Phases of WebSocket monitors.
  ['connect', 'connect'],
  ['tls', 'tls'],
  ['handshake', 'processing'],
  ['messages', 'transfer'],
] as const;

/**
 * Last run of each check under the names of blackbox_exporter, for existing dashboards and rules. `instance` is the
 * name of the check.
 */
export const blackboxFamilies: readonly Family[] = [
  {
    name: 'probe_success',
    type: 'gauge',
    help: 'Whether the last run passed; absent while the check is not measured',
    write: (sink, { check: { state }, labels, places }) => {
      // With a single location, the state of the check decides, which includes on-demand runs.
      if (places.length < 2) {
        if (isMeasured(state))
          sink.add('probe_success', Number(state !== 'failing'), places[0]?.labels ?? labels);
        return;
      }
      for (const { labels: placeLabels, last, isMeasured: isMeasuredThere } of places) {
        if (last && isMeasuredThere) sink.add('probe_success', Number(last.hasPassed), placeLabels);
      }
    },
  },
  ofPlace('probe_duration_seconds', 'Response time of the last run', ({ last }) =>
    last?.responseUs == null ? undefined : last.responseUs / 1e6,
  ),
  ofPlace('probe_http_status_code', 'Status of the last HTTP response', ({ last }, { check }) => {
    const [status] = last?.measured[0] ?? [];
    return isOverHttp(check.check_type) && typeof status === 'number' ? status : undefined;
  }),
  {
    name: 'probe_http_duration_seconds',
    type: 'gauge',
    help: 'Phases of the last HTTP request',
    write: (sink, { check, places }) => {
      if (!isOverHttp(check.check_type)) return;
      for (const { labels, last } of places) {
        const [, values = {}] = last?.measured[0] ?? [];
        for (const [name, phase] of httpPhases) {
          const valueMs = values[name];
          if (valueMs === undefined) continue;
          const seconds = Math.round(valueMs * 1000) / 1e6;
          sink.add('probe_http_duration_seconds', seconds, labels, labelOf('phase', phase));
        }
      }
    },
  },
  ofPlace('probe_dns_lookup_time_seconds', 'DNS lookup time of the last run', ({ last }) =>
    secondsOf(last?.measured[0]?.[1]['dns']),
  ),
  {
    name: 'probe_icmp_duration_seconds',
    type: 'gauge',
    help: 'Phases of the last pings',
    write: (sink, { places }) => {
      for (const { labels, last } of places) {
        const seconds = secondsOf(last?.measured[0]?.[1]['latencyAvg']);
        if (seconds !== undefined) {
          sink.add('probe_icmp_duration_seconds', seconds, labels, labelOf('phase', 'rtt'));
        }
      }
    },
  },
  ofPlace(
    'probe_ssl_earliest_cert_expiry',
    'When the certificate of the target expires, in seconds since 1970',
    (_place, { check }) =>
      check.certificate_expires === null ? undefined : check.certificate_expires / 1000,
  ),
];

function secondsOf(valueMs: number | undefined): number | undefined {
  return valueMs === undefined ? undefined : Math.round(valueMs * 1000) / 1e6;
}

function isOverHttp(checkType: string): boolean {
  return findCheckType(checkType)?.analytics?.dimension?.name === statusCodeDimension.name;
}
