import { defineCheckType } from '../contract/check-type.ts';
import { scriptTimeMetric } from '../contract/metric.ts';
import { AgenticDetail } from './detail.ts';
import { agenticFacts } from './facts.ts';
import { AgenticSpec } from './spec.ts';
import { summaryOf } from './summary.ts';

export const agentic = defineCheckType({
  name: 'AGENTIC',
  route: 'agentic',
  title: 'Agentic check',
  icon: 'sparkle',
  purpose: 'Follows a goal in plain words in a browser, with the help of a model.',
  family: 'scripts',
  lane: 'script',
  needsModel: true,
  needsBrowser: true,
  // A browser and one Node process.
  memoryBytes: 600 * 1024 ** 2,
  timeoutMs: 240_000,
  isSubMinuteAllowed: false,
  hasNetworkErrors: false,
  isRetried: false,
  spec: AgenticSpec,
  form: {
    prompt: {
      label: 'Task and expected result',
      hint: 'In plain words. A run gets only the variables that it names: {{NAME}}',
      lines: 5,
      isFirst: true,
      names: 'text',
    },
    allowedOrigins: { label: 'Further origins', hint: 'One per line, such as https://pay.example.com.' },
    'agentRuntime.skills': { label: 'Skills', hint: 'One per line: hints for the model.' },
  },
  templates: [
    {
      title: 'Visit a page',
      fields: { prompt: 'Open https://example.com/. The page shows a heading that says “Example Domain”.' },
    },
    {
      title: 'Log in',
      fields: {
        prompt:
          'Open https://example.com/login and log in as {{LOGIN_EMAIL}} with the password {{LOGIN_PASSWORD}}. The next page says “Welcome”.',
      },
    },
  ],
  detail: AgenticDetail,
  detailKey: 'agenticCheckResult',
  facts: agenticFacts,
  summary: summaryOf,
  artifactFields: ['screenshots'],
  planOf: ({ plan }) => (plan?.fresh ? { reason: plan.origin, content: plan.fresh } : null),
  analytics: { route: 'agentic-checks', metrics: [scriptTimeMetric] },
  load: async () => ({ run: (await import('@picket/agentic/run.ts')).runAgentic }),
});
