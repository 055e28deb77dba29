import { defineCheckType } from '../contract/check-type.ts';
import { withRequest, withScheme } from '../contract/definition/shorthand.ts';
import { httpMetrics, statusCodeDimension } from '../contract/metric.ts';
import { withAuth } from '../http/auth/shorthand.ts';
import { HttpDetail } from '../http/detail.ts';
import { httpAssertable, httpFacts } from '../http/facts.ts';
import { httpForm } from '../http/form.ts';
import { summaryOf } from '../http/summary.ts';
import { diagnosisArtifactFields } from '../judging/diagnosis-facts.ts';
import { maskedInUrl, UrlSpec } from './spec.ts';

export { UrlSpec };

export const url = defineCheckType({
  name: 'URL',
  route: 'url',
  title: 'URL monitor',
  icon: 'link',
  purpose: 'Requests a URL, and expects a status code.',
  family: 'web',
  lane: 'probe',
  isOfAddress: true,
  timeoutMs: 30_000,
  isSubMinuteAllowed: true,
  hasNetworkErrors: true,
  spec: UrlSpec,
  form: httpForm,
  masked: maskedInUrl,
  artifactFields: diagnosisArtifactFields,
  detail: HttpDetail,
  detailKey: 'apiCheckResult',
  shorthand: {
    names: ['HTTP', 'HTTPS', 'WEBSITE', 'WEB'],
    schemes: ['http', 'https'],
    complete: (fields) =>
      withRequest(fields, (request) => ({ ...withScheme(request), ...withAuth(request) })),
  },
  facts: httpFacts,
  summary: summaryOf,
  assertable: httpAssertable,
  analytics: { route: 'url-monitors', metrics: httpMetrics, dimension: statusCodeDimension },
  isRepeatable: () => true,
  selfTest: ({ href }) => ({ request: { url: href } }),
  load: async () => {
    const { runUrl, warmUp } = await import('./run.ts');
    await warmUp();
    return { run: runUrl };
  },
});
