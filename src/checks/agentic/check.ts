import { defineCheckType } from '../contract/check-type.ts';
import { scriptTimeMetric } from '../contract/metric.ts';
import { AgenticDetail } from './detail.ts';
import { AgenticSpec } from './spec.ts';

export const agentic = defineCheckType({
  name: 'AGENTIC',
  route: 'agentic',
  title: 'Agentic check',
  // Without a model it answers at once; following a prompt would be work for the script lane.
  lane: 'probe',
  timeoutMs: 240_000,
  isSubMinuteAllowed: false,
  hasNetworkErrors: false,
  isRetried: false,
  spec: AgenticSpec,
  detail: AgenticDetail,
  detailKey: 'agenticCheckResult',
  analytics: { route: 'agentic-checks', metrics: [scriptTimeMetric] },
  load: async () => ({ run: (await import('./run.ts')).runAgentic }),
});
