import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { defineCheckType } from '../contract/check-type.ts';
import { scriptTimeMetric } from '../contract/metric.ts';
import { MultiStepDetail, multiStepArtifactFields } from '../script/detail.ts';
import { multiStepFacts } from '../script/facts.ts';
import { scriptForm } from '../script/form.ts';
import { maskedInPlaywrightConfig } from '../script/playwright-config.ts';
import { ScriptSpec } from '../script/spec.ts';
import { scriptSummary } from '../script/summary.ts';
import { multiStepTemplates } from '../script/templates.ts';
import { runtimeIds } from '../tables/runtimes.ts';

/** Runtimes older than multi-step checks (check model 6). */
const withoutMultiStep: readonly string[] = ['2023.02', '2022.10'];

const MultiStepSpec = lazySchema(() =>
  ScriptSpec.schema.extend({
    runtimeId: z
      .enum(runtimeIds.filter((id) => !withoutMultiStep.includes(id)))
      .nullable()
      .default(null)
      .describe('null is the newest runtime of the agent; 2023.09 is the oldest with multi-step checks'),
  }),
);

const requestScript = (url: string) => `import { test, expect } from '@playwright/test';
test('a request', async ({ request }) => {
  expect((await request.get(${JSON.stringify(url)})).status()).toBe(200);
});
`;

export const multiStep = defineCheckType({
  name: 'MULTI_STEP',
  route: 'multistep',
  title: 'Multi-step check',
  icon: 'tasklist',
  purpose: 'Runs a script that sends several requests in turn, as a user’s journey through an API.',
  family: 'scripts',
  lane: 'script',
  needsRuntime: true,
  hasLiveLog: true,
  usesSnippets: true,
  // Two Node processes (measured: 230 to 340 MB).
  memoryBytes: 400 * 1024 ** 2,
  timeoutMs: 240_000,
  isSubMinuteAllowed: false,
  hasNetworkErrors: false,
  spec: MultiStepSpec,
  form: scriptForm,
  templates: multiStepTemplates,
  masked: maskedInPlaywrightConfig,
  artifactFields: multiStepArtifactFields,
  detail: MultiStepDetail,
  detailKey: 'multiStepCheckResult',
  facts: multiStepFacts,
  summary: scriptSummary,
  analytics: { route: 'multistep-checks', metrics: [scriptTimeMetric] },
  selfTest: ({ href }) => ({ script: requestScript(href) }),
  load: async () => ({ run: (await import('../script/run.ts')).runMultiStepScript }),
});
