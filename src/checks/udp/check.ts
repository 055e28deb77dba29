import { asFast, containedAgain } from '../assertable/assertable.ts';
import { defineCheckType } from '../contract/check-type.ts';
import { assertionsForm, ipFamilyWords, limitsForm } from '../contract/definition/common-form.ts';
import { splitHost, withRequest } from '../contract/definition/shorthand.ts';
import { millisecondsAt } from '../contract/metric.ts';
import { diagnosisArtifactFields } from '../judging/diagnosis-facts.ts';
import { UdpDetail } from './detail.ts';
import { udpFacts } from './facts.ts';
import { udpProblems } from './problems.ts';
import { UdpSpec } from './spec.ts';
import { summaryOf } from './summary.ts';

const phase = (name: string, label: string) =>
  millisecondsAt(name, label, ['response', 'timingPhases', name]);

export const udp = defineCheckType({
  name: 'UDP',
  route: 'udp',
  title: 'UDP monitor',
  icon: 'paper-airplane',
  purpose: 'Sends a datagram, and checks the response.',
  family: 'network',
  lane: 'probe',
  // Five attempts of five seconds, and the diagnosis.
  timeoutMs: 35_000,
  isSubMinuteAllowed: true,
  hasNetworkErrors: true,
  spec: UdpSpec,
  form: {
    'request.hostname': {
      label: 'Host',
      hint: 'Host name or IP address, without scheme and port.',
      isFirst: true,
      width: 'wide',
      names: 'text',
    },
    'request.port': { label: 'Port', isFirst: true, width: 'narrow' },
    'request.data': {
      label: 'Data to send',
      hint: 'Empty: a datagram without data.',
      lines: 3,
      isCode: true,
    },
    'request.steps': {
      label: 'Steps',
      hint: 'Several datagrams; each is sent after the response to the previous one.',
    },
    'request.steps.*.data': { label: 'Data', lines: 2, isCode: true },
    'request.steps.*.text': { label: 'Response contains' },
    'request.steps.*.regex': { label: 'Response matches', hint: 'A regular expression.' },
    'request.dataFormat': {
      label: 'Format of the data',
      hint: 'The response is shown and compared in the same format.',
      words: { TEXT: 'text', HEX: 'hexadecimal digits' },
    },
    'request.attempts': { label: 'Maximum attempts', hint: 'Until a response arrives.' },
    'request.attemptTimeoutMs': { label: 'Timeout of an attempt', hint: 'Milliseconds.' },
    'request.ipFamily': ipFamilyWords,
    ...assertionsForm,
    ...limitsForm,
    shouldFail: {
      label: 'Expect no response',
      hint: 'Passes without a response, and fails with one.',
      topic: 'limits',
    },
  },
  definitionProblems: udpProblems,
  artifactFields: diagnosisArtifactFields,
  detail: UdpDetail,
  detailKey: 'udpCheckResult',
  shorthand: { complete: (fields) => withRequest(fields, splitHost) },
  facts: udpFacts,
  summary: summaryOf,
  assertable: ({ response }) => [
    ...(response?.data === undefined ? [] : asFast(response.timingPhases.total)),
    ...containedAgain('Response', 'RESPONSE_DATA', response?.data ?? ''),
  ],
  analytics: {
    route: 'udp-checks',
    metrics: [
      { ...phase('total', 'Total'), overviewAs: 'responseTime' },
      phase('dns', 'DNS lookup'),
      phase('wait', 'Wait'),
    ],
  },
  // A datagram may change something at the target.
  isRepeatable: ({ request }) => request.data === '' && request.steps.length === 0,
  // No UDP service listens at the port of a web server.
  selfTest: ({ hostname, port }) => ({
    shouldFail: true,
    request: { hostname, port: Number(port), attempts: 1, attemptTimeoutMs: 100 },
  }),
  load: async () => {
    const { runUdp } = await import('./run.ts');
    return { run: runUdp };
  },
});
