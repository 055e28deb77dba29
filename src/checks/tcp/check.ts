import { addressesWords } from '../addresses/fields.ts';
import { asFast, containedAgain } from '../assertable/assertable.ts';
import { defineCheckType } from '../contract/check-type.ts';
import { assertionsForm, ipFamilyWords, limitsForm } from '../contract/definition/common-form.ts';
import { splitHost, withRequest } from '../contract/definition/shorthand.ts';
import { millisecondsAt } from '../contract/metric.ts';
import { diagnosisArtifactFields } from '../judging/diagnosis-facts.ts';
import { TcpDetail } from './detail.ts';
import { tcpFacts } from './facts.ts';
import { tcpProblems } from './problems.ts';
import { TcpSpec } from './spec.ts';
import { summaryOf } from './summary.ts';

export { TcpSpec };

export const tcp = defineCheckType({
  name: 'TCP',
  route: 'tcp',
  title: 'TCP monitor',
  icon: 'plug',
  purpose: 'Opens a TCP connection, sends data, and checks the response.',
  family: 'network',
  lane: 'probe',
  timeoutMs: 30_000,
  isSubMinuteAllowed: true,
  hasNetworkErrors: true,
  spec: TcpSpec,
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
      hint: 'Sent once the connection is ready.',
      lines: 3,
      isCode: true,
    },
    'request.steps': { label: 'Steps', hint: 'A line-based dialogue instead of data to send.' },
    'request.steps.*.type': {
      label: 'It',
      words: { SEND: 'sends', EXPECT: 'expect a line', START_TLS: 'start TLS' },
    },
    'request.steps.*.text': {
      label: 'Text',
      hint: 'Text to send, or text that the line contains.',
      lines: 2,
      isCode: true,
    },
    'request.steps.*.regex': { label: 'To expect: regular expression of the line' },
    'request.steps.*.timeoutMs': { label: 'Timeout', hint: 'Milliseconds; empty: 5000.' },
    'request.useSSL': { label: 'Use TLS' },
    'request.skipSSL': { label: 'With TLS: ignore certificate errors' },
    'request.ipFamily': ipFamilyWords,
    'request.addresses': addressesWords,
    ...assertionsForm,
    ...limitsForm,
  },
  definitionProblems: tcpProblems,
  detail: TcpDetail,
  detailKey: 'apiCheckResult',
  shorthand: { names: ['PORT'], complete: (fields) => withRequest(fields, splitHost) },
  artifactFields: diagnosisArtifactFields,
  facts: tcpFacts,
  summary: summaryOf,
  assertable: ({ response }) => [
    ...(response.timingPhases ? asFast(response.timingPhases.total) : []),
    ...containedAgain('Response', 'RESPONSE_DATA', response.data ?? ''),
  ],
  analytics: {
    route: 'tcp-checks',
    metrics: [
      {
        ...millisecondsAt('total', 'Total', ['response', 'timingPhases', 'total']),
        overviewAs: 'responseTime',
      },
      millisecondsAt('dns', 'DNS lookup', ['response', 'timingPhases', 'dns']),
      millisecondsAt('connection', 'Connection', ['response', 'timingPhases', 'connection']),
      millisecondsAt('data', 'Data', ['response', 'timingPhases', 'data']),
    ],
  },
  // Data sent to a port may change something there.
  isRepeatable: ({ request }) =>
    (request.data ?? '') === '' && request.steps.every(({ type }) => type !== 'SEND'),
  selfTest: ({ hostname, port, protocol }) => ({
    request: { hostname, port: Number(port), useSSL: protocol === 'https:' },
  }),
  load: async () => {
    const { runTcp, warmUp } = await import('./run.ts');
    await warmUp();
    return { run: runTcp };
  },
});
