import { z } from 'zod';
import { addressesWords } from '../addresses/fields.ts';
import { defineCheckType } from '../contract/check-type.ts';
import { assertionsForm, ipFamilyWords, limitsForm } from '../contract/definition/common-form.ts';
import { millisecondsAt } from '../contract/metric.ts';
import { assertionProblems } from '../judging/assertion-problems.ts';
import { diagnosisArtifactFields } from '../judging/diagnosis-facts.ts';
import { IcmpDetail } from './detail.ts';
import { icmpFacts } from './facts.ts';
import { IcmpSpec } from './spec.ts';
import { summaryOf } from './summary.ts';

export { IcmpSpec };

export const icmp = defineCheckType({
  name: 'ICMP',
  route: 'icmp',
  title: 'ICMP monitor',
  icon: 'broadcast',
  purpose: 'Pings a host, and checks packet loss and round-trip times.',
  family: 'network',
  lane: 'probe',
  needsIcmp: true,
  timeoutMs: 30_000,
  isSubMinuteAllowed: true,
  hasNetworkErrors: false,
  spec: IcmpSpec,
  form: {
    'request.hostname': { label: 'Host', hint: 'Host name or IP address.', isFirst: true, names: 'text' },
    'request.pingCount': { label: 'Pings', hint: 'How many, 1 to 50; empty: 10.' },
    'request.packetSize': { label: 'Bytes of each ping' },
    'request.dontFragment': { label: 'Forbid fragmentation of pings' },
    'request.ipFamily': ipFamilyWords,
    'request.addresses': addressesWords,
    ...assertionsForm,
    ...limitsForm,
    degradedPacketLossThreshold: {
      label: 'Degraded from a packet loss of',
      hint: 'Percent of the pings; empty: never.',
      topic: 'limits',
    },
    maxPacketLossThreshold: {
      label: 'Fails from a packet loss of',
      hint: 'Percent of the pings; empty: no limit.',
      topic: 'limits',
    },
  },
  definitionProblems: ({ request }) => assertionProblems(request.assertions),
  detail: IcmpDetail,
  detailKey: 'apiCheckResult',
  shorthand: { names: ['PING'] },
  artifactFields: diagnosisArtifactFields,
  facts: icmpFacts,
  summary: summaryOf,
  analytics: {
    route: 'icmp',
    metrics: [
      {
        name: 'packetLoss',
        label: 'Packet loss',
        unit: 'percentage',
        path: ['response', 'packetLoss'],
        overviewAs: 'packetLoss',
      },
      millisecondsAt('latencyMin', 'Latency (min)', ['response', 'latency', 'min']),
      millisecondsAt('latencyMax', 'Latency (max)', ['response', 'latency', 'max']),
      {
        ...millisecondsAt('latencyAvg', 'Latency (avg)', ['response', 'latency', 'avg']),
        overviewAs: 'latency',
      },
      millisecondsAt('latencyStdDev', 'Latency (std dev)', ['response', 'latency', 'stdDev']),
    ],
  },
  // spec.md "ICMP monitor additions" requires both without giving a reason.
  requiredOnUpdate: z.object({
    heartbeat: z.looseObject({}).describe('Required, not used'),
    script: z.string().describe('Required, not used'),
  }),
  isRepeatable: () => true,
  selfTest: ({ hostname }) => ({ request: { hostname, pingCount: 1 } }),
  load: async () => {
    const { openIcmpRunner } = await import('./run.ts');
    return await openIcmpRunner();
  },
});
