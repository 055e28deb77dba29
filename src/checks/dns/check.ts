import { defineCheckType } from '../contract/check-type.ts';
import { responseTimeMetric } from '../contract/metric.ts';
import { assertionProblems } from '../judging/assertion-problems.ts';
import { DnsDetail } from './detail.ts';
import { DnsSpec } from './spec.ts';

export const dns = defineCheckType({
  name: 'DNS',
  route: 'dns',
  title: 'DNS monitor',
  lane: 'probe',
  timeoutMs: 30_000,
  isSubMinuteAllowed: true,
  hasNetworkErrors: false,
  spec: DnsSpec,
  definitionProblems: ({ request }) => assertionProblems(request.assertions),
  detail: DnsDetail,
  detailKey: 'apiCheckResult',
  analytics: { route: 'dns', metrics: [{ ...responseTimeMetric, name: 'total', label: 'Total' }] },
  isRepeatable: () => true,
  load: async () => {
    const { runDns, warmUp } = await import('./run.ts');
    await warmUp();
    return { run: runDns };
  },
});
