import { defineCheckType } from '../contract/check-type.ts';
import { assertionsForm, ipFamilyWords, limitsForm } from '../contract/definition/common-form.ts';
import { millisecondsAt, responseTimeMetric } from '../contract/metric.ts';
import { assertionProblems } from '../judging/assertion-problems.ts';
import { TracerouteDetail } from './detail.ts';
import { tracerouteFacts } from './facts.ts';
import { portOf, TracerouteSpec } from './spec.ts';
import { summaryOf } from './summary.ts';

export { TracerouteSpec };

export const traceroute = defineCheckType({
  name: 'TRACEROUTE',
  route: 'traceroute',
  title: 'Traceroute monitor',
  icon: 'milestone',
  purpose: 'Traces the route to a host, and checks hops, loss and round-trip times.',
  family: 'network',
  lane: 'probe',
  timeoutMs: 35_000,
  isSubMinuteAllowed: true,
  // See probes/traceroute/error-budget.ts.
  isOnOneThread: true,
  hasNetworkErrors: true,
  spec: TracerouteSpec,
  form: {
    'request.url': {
      label: 'Host',
      hint: 'Host name or IP address, without scheme and port.',
      isFirst: true,
      names: 'text',
    },
    'request.protocol': {
      label: 'Probes',
      hint: '',
      words: { TCP: 'TCP (connections)', UDP: 'UDP', ICMP: 'ICMP (ping)' },
    },
    'request.port': { label: 'Port', hint: 'Empty: 443 with TCP, 33434 with UDP. ICMP has no port.' },
    'request.ipFamily': ipFamilyWords,
    'request.maxHops': { label: 'Maximum hops' },
    'request.maxUnknownHops': { label: 'Stop after consecutive silent hops' },
    'request.probesPerHop': { label: 'Probes for each hop' },
    'request.probeTimeoutMs': { label: 'Timeout of a probe', hint: 'Milliseconds.' },
    'request.ptrLookup': { label: 'Look up the names of routers' },
    'request.timeout': { label: 'Total timeout', hint: 'Seconds.' },
    ...assertionsForm,
    ...limitsForm,
  },
  definitionProblems: ({ request }) => assertionProblems(request.assertions),
  detail: TracerouteDetail,
  detailKey: 'tracerouteCheckResult',
  shorthand: { names: ['TRACE'] },
  facts: tracerouteFacts,
  summary: summaryOf,
  endpoint: ({ request }) => ({ hostname: request.url, port: portOf(request) }),
  analytics: {
    route: 'traceroute',
    metrics: [
      responseTimeMetric,
      millisecondsAt('finalHopLatencyAvg', 'Latency of the target (avg)', [
        'response',
        'finalHopLatency',
        'avg',
      ]),
      millisecondsAt('finalHopLatencyBest', 'Latency of the target (min)', [
        'response',
        'finalHopLatency',
        'best',
      ]),
      millisecondsAt('finalHopLatencyWorst', 'Latency of the target (max)', [
        'response',
        'finalHopLatency',
        'worst',
      ]),
      {
        name: 'totalHops',
        label: 'Hops to the target',
        unit: 'count',
        path: ['response', 'totalHops'],
        overviewAs: 'hopCount',
      },
      {
        name: 'packetLoss',
        label: 'Loss at the target',
        unit: 'percentage',
        path: ['response', 'packetLoss'],
      },
    ],
  },
  isRepeatable: () => true,
  selfTest: ({ hostname, port }) => ({ request: { url: hostname, port: Number(port), probesPerHop: 1 } }),
  load: async () => {
    const { openTracerouteRunner } = await import('./run.ts');
    return await openTracerouteRunner();
  },
});
