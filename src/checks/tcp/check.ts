import { addressesWords } from '../addresses/fields.ts';
import { defineCheckType } from '../contract/check-type.ts';
import { assertionsForm, ipFamilyWords, limitsForm } from '../contract/common-form.ts';
import { millisecondsAt } from '../contract/metric.ts';
import { assertionProblems } from '../judging/assertion-problems.ts';
import { TcpDetail } from './detail.ts';
import { TcpSpec } from './spec.ts';

export { TcpSpec };

export const tcp = defineCheckType({
  name: 'TCP',
  route: 'tcp',
  title: 'TCP monitor',
  lane: 'probe',
  timeoutMs: 30_000,
  isSubMinuteAllowed: true,
  hasNetworkErrors: true,
  spec: TcpSpec,
  form: {
    'request.hostname': { label: 'Host', hint: 'A name or an address, without scheme and port.' },
    'request.port': { label: 'Port' },
    'request.data': {
      label: 'Data to send',
      hint: 'Sent once the connection is ready.',
      lines: 3,
      isCode: true,
    },
    'request.useSSL': { label: 'Speak TLS' },
    'request.skipSSL': { label: 'With TLS: take any certificate' },
    'request.ipFamily': ipFamilyWords,
    'request.addresses': addressesWords,
    ...assertionsForm,
    ...limitsForm,
  },
  definitionProblems: ({ request }) => assertionProblems(request.assertions),
  detail: TcpDetail,
  detailKey: 'apiCheckResult',
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
  // What is sent to a port may change something there.
  isRepeatable: ({ request }) => (request.data ?? '') === '',
  selfTest: ({ hostname, port, protocol }) => ({
    request: { hostname, port: Number(port), useSSL: protocol === 'https:' },
  }),
  load: async () => {
    const { runTcp, warmUp } = await import('./run.ts');
    await warmUp();
    return { run: runTcp };
  },
});
