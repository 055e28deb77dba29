import { asFast, sameAgain } from '../assertable/assertable.ts';
import { defineCheckType } from '../contract/check-type.ts';
import { assertionsForm, ipFamilyWords, limitsForm } from '../contract/definition/common-form.ts';
import { splitHost, withRequest } from '../contract/definition/shorthand.ts';
import { millisecondsAt } from '../contract/metric.ts';
import { assertionProblems } from '../judging/assertion-problems.ts';
import { diagnosisArtifactFields, exchangeFacts } from '../judging/diagnosis-facts.ts';
import { NtpDetail } from './detail.ts';
import { NtpSpec } from './spec.ts';
import { summaryOf } from './summary.ts';

const clock = (name: string, label: string, field: string) =>
  millisecondsAt(name, label, ['response', 'time', field]);

export const ntp = defineCheckType({
  name: 'NTP',
  route: 'ntp',
  title: 'NTP monitor',
  icon: 'clock',
  purpose: 'Asks a time server, and compares its clock with the agent’s.',
  family: 'network',
  lane: 'probe',
  // Five attempts of five seconds, and the diagnosis.
  timeoutMs: 35_000,
  isSubMinuteAllowed: true,
  hasNetworkErrors: true,
  spec: NtpSpec,
  form: {
    'request.hostname': {
      label: 'Time server',
      hint: 'Host name or IP address.',
      isFirst: true,
      width: 'wide',
      names: 'text',
    },
    'request.port': { label: 'Port', isFirst: true, width: 'narrow' },
    'request.attempts': { label: 'Maximum attempts', hint: 'Until an answer arrives.' },
    'request.attemptTimeoutMs': { label: 'Timeout of an attempt', hint: 'Milliseconds.' },
    'request.ipFamily': ipFamilyWords,
    ...assertionsForm,
    degradedOffsetMs: {
      label: 'Degraded over an offset of',
      hint: 'Milliseconds between the clock of the server and that of the agent; empty: never.',
      topic: 'limits',
    },
    maxOffsetMs: { label: 'Fails over an offset of', hint: 'Milliseconds; empty: never.', topic: 'limits' },
    ...limitsForm,
    shouldFail: {
      label: 'Expect no time',
      hint: 'Passes when the server is silent or gives no time, and fails when it gives one.',
      topic: 'limits',
    },
  },
  definitionProblems: ({ request }) => assertionProblems(request.assertions),
  artifactFields: diagnosisArtifactFields,
  detail: NtpDetail,
  detailKey: 'ntpCheckResult',
  shorthand: { names: ['SNTP'], complete: (fields) => withRequest(fields, splitHost) },
  facts: exchangeFacts,
  summary: summaryOf,
  assertable: ({ response }) =>
    response?.time
      ? [
          ...asFast(response.timingPhases.total),
          ...sameAgain('Stratum', 'STRATUM', response.time.stratum),
          ...sameAgain('Reference', 'JSON_RESPONSE', response.time.referenceId, '$.referenceId'),
        ]
      : [],
  analytics: {
    route: 'ntp-checks',
    metrics: [
      {
        ...millisecondsAt('total', 'Total', ['response', 'timingPhases', 'total']),
        overviewAs: 'responseTime',
      },
      millisecondsAt('dns', 'DNS lookup', ['response', 'timingPhases', 'dns']),
      clock('offset', 'Offset', 'offsetMs'),
      clock('roundTrip', 'Round trip', 'roundTripMs'),
      clock('rootDispersion', 'Root dispersion', 'rootDispersionMs'),
      { name: 'stratum', label: 'Stratum', unit: 'count', path: ['response', 'time', 'stratum'] },
    ],
  },
  isRepeatable: () => true,
  // No time service listens at the port of a web server.
  selfTest: ({ hostname, port }) => ({
    shouldFail: true,
    request: { hostname, port: Number(port), attempts: 1, attemptTimeoutMs: 100 },
  }),
  load: async () => {
    const { loadRunner } = await import('./run.ts');
    return { run: await loadRunner() };
  },
});
