import { sameAgain } from '../assertable/assertable.ts';
import { defineCheckType } from '../contract/check-type.ts';
import { assertionsForm, limitsForm } from '../contract/definition/common-form.ts';
import { responseTimeMetric } from '../contract/metric.ts';
import { assertionProblems } from '../judging/assertion-problems.ts';
import { DomainDetail } from './detail.ts';
import { domainFacts } from './facts.ts';
import { DomainSpec } from './spec.ts';
import { summaryOf } from './summary.ts';

export const domain = defineCheckType({
  name: 'DOMAIN',
  route: 'domain',
  title: 'Domain monitor',
  icon: 'calendar',
  purpose: 'Asks the registry when the registration of a domain expires.',
  family: 'network',
  lane: 'probe',
  timeoutMs: 30_000,
  isSubMinuteAllowed: false,
  hasNetworkErrors: true,
  spec: DomainSpec,
  form: {
    'request.domain': {
      label: 'Domain',
      hint: 'As registered: example.com. Registries limit requests: every 12 or 24 hours is enough.',
      isFirst: true,
      names: 'text',
    },
    'request.rdapServer': {
      label: 'RDAP server',
      hint: 'Base URL; empty: the one that the list has for the top-level domain.',
    },
    'request.rdapDirectory': { label: 'List of RDAP servers' },
    'request.alertDaysBeforeExpiry': { label: 'Degraded within days of expiry', hint: 'Empty: never.' },
    'request.failDaysBeforeExpiry': {
      label: 'Fails within days of expiry',
      hint: 'Empty: once it has expired.',
    },
    ...assertionsForm,
    ...limitsForm,
    shouldFail: {
      label: 'Expect an unregistered domain',
      hint: 'Passes while the registry does not know the domain, and fails when it does.',
      topic: 'limits',
    },
  },
  definitionProblems: ({ request }) => assertionProblems(request.assertions),
  detail: DomainDetail,
  detailKey: 'domainCheckResult',
  shorthand: { names: ['RDAP', 'WHOIS'] },
  facts: domainFacts,
  summary: summaryOf,
  assertable: ({ response }) =>
    response?.registration
      ? [
          ...sameAgain('Registrar', 'REGISTRAR', response.registration.registrar ?? ''),
          ...response.registration.statuses.slice(0, 10).map((status) => ({
            label: 'Status',
            value: status,
            assertion: { source: 'STATUS', property: '', comparison: 'CONTAINS' as const, target: status },
          })),
        ]
      : [],
  endpoint: ({ request }) => ({ hostname: request.domain, port: null }),
  analytics: {
    route: 'domain-checks',
    metrics: [
      responseTimeMetric,
      {
        name: 'daysUntilExpiry',
        label: 'Days until the registration expires',
        unit: 'count',
        path: ['response', 'daysUntilExpiry'],
      },
    ],
  },
  isRepeatable: () => true,
  load: async () => ({ run: (await import('./run.ts')).runDomain }),
});
