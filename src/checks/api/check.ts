import { defineCheckType } from '../contract/check-type.ts';
import { httpMetrics, statusCodeDimension } from '../contract/metric.ts';
import { HttpDetail } from '../http/detail.ts';
import { httpAssertable, httpFacts } from '../http/facts.ts';
import { httpForm } from '../http/form.ts';
import { summaryOf } from '../http/summary.ts';
import { assertionProblems } from '../judging/assertion-problems.ts';
import { diagnosisArtifactFields } from '../judging/diagnosis-facts.ts';
import { apiGroupDefaults } from './group-defaults.ts';
import { apiShorthand } from './shorthand.ts';
import { ApiSpec, maskedInApi } from './spec.ts';

export { ApiSpec };

export const api = defineCheckType({
  name: 'API',
  route: 'api',
  title: 'API check',
  icon: 'code-square',
  purpose: 'Sends an HTTP request, and checks status, headers, body and times by assertions.',
  family: 'web',
  lane: 'probe',
  timeoutMs: 30_000,
  isSubMinuteAllowed: true,
  hasNetworkErrors: true,
  spec: ApiSpec,
  form: httpForm,
  definitionProblems: ({ request }) => assertionProblems(request.assertions),
  masked: maskedInApi,
  artifactFields: diagnosisArtifactFields,
  usesClientCertificates: true,
  usesLifecycleScripts: true,
  groupDefaults: apiGroupDefaults,
  detail: HttpDetail,
  detailKey: 'apiCheckResult',
  shorthand: apiShorthand,
  facts: httpFacts,
  summary: summaryOf,
  assertable: httpAssertable,
  analytics: { route: 'api-checks', metrics: httpMetrics, dimension: statusCodeDimension },
  // RFC 9110 9.2.1: these methods are safe, they change nothing.
  isRepeatable: ({ request }) => request.method === 'GET' || request.method === 'HEAD',
  selfTest: ({ href }) => ({ request: { url: href } }),
  load: async () => {
    const { runApi, warmUp } = await import('./run.ts');
    await warmUp();
    return { run: runApi };
  },
});
