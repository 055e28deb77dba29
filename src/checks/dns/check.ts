import { asFast, containedAgain, sameAgain } from '../assertable/assertable.ts';
import { defineCheckType } from '../contract/check-type.ts';
import { assertionsForm, limitsForm } from '../contract/definition/common-form.ts';
import { hostAndPort, withRequest } from '../contract/definition/shorthand.ts';
import { responseTimeMetric } from '../contract/metric.ts';
import { assertionProblems } from '../judging/assertion-problems.ts';
import { diagnosisArtifactFields } from '../judging/diagnosis-facts.ts';
import { DnsDetail } from './detail.ts';
import { dnsFacts } from './facts.ts';
import { DnsSpec } from './spec.ts';
import { summaryOf } from './summary.ts';

export const dns = defineCheckType({
  name: 'DNS',
  route: 'dns',
  title: 'DNS monitor',
  icon: 'globe',
  purpose: 'Queries a name server, and checks the answer.',
  family: 'network',
  lane: 'probe',
  timeoutMs: 30_000,
  isSubMinuteAllowed: true,
  hasNetworkErrors: false,
  spec: DnsSpec,
  form: {
    'request.query': { label: 'Name to look up', isFirst: true, width: 'wide', names: 'text' },
    'request.recordType': { label: 'Record type', isFirst: true, width: 'narrow', initial: 'A' },
    'request.nameServer': {
      label: 'Name server',
      hint: 'Host name or IP address; empty: the resolver of the location.',
    },
    'request.port': {
      label: 'Port of the name server',
      hint: 'Required with a name server: 53, or 853 with DoT.',
    },
    'request.nameServers': {
      label: 'Several name servers',
      hint: 'Instead of one: one per line, with a port if it is not the usual one. All are asked at the same time.',
      lines: 3,
    },
    'request.serversToPass': {
      label: 'Of several name servers',
      words: { EVERY: 'each has to answer as expected', ANY: 'one that answers as expected suffices' },
    },
    'request.protocol': {
      label: 'Protocol',
      words: { UDP: 'UDP', TCP: 'TCP', DOT: 'TLS (DoT)', DOH: 'HTTPS (DoH)' },
    },
    'request.recursionDesired': { label: 'Request recursion' },
    'request.dnssecOk': { label: 'Request DNSSEC signatures' },
    ...assertionsForm,
    ...limitsForm,
  },
  definitionProblems: ({ request }) => assertionProblems(request.assertions),
  detail: DnsDetail,
  detailKey: 'apiCheckResult',
  shorthand: { complete: (fields) => withRequest(fields, withPort) },
  artifactFields: diagnosisArtifactFields,
  facts: dnsFacts,
  summary: summaryOf,
  assertable: ({ response }) => [
    ...(response.returnCode === '' ? [] : sameAgain('Response code', 'RESPONSE_CODE', response.returnCode)),
    ...asFast(response.responseTime),
    ...containedAgain('Answer', 'TEXT_ANSWER', response.answer),
    ...(response.json?.Answer ?? [])
      .slice(0, 10)
      .flatMap(({ data }, index) =>
        sameAgain(`Record ${index + 1}`, 'JSON_ANSWER', data, `$.Answer[${index}].data`),
      ),
  ],
  analytics: { route: 'dns', metrics: [{ ...responseTimeMetric, name: 'total', label: 'Total' }] },
  isRepeatable: () => true,
  load: async () => {
    const { runDns, warmUp } = await import('./run.ts');
    await warmUp();
    return { run: runDns };
  },
});

/** A name server without a port has that of the protocol. */
function withPort({ nameServer, port, protocol }: Readonly<Record<string, unknown>>) {
  if (typeof nameServer !== 'string' || port !== undefined) return {};
  const [host, own] = hostAndPort(nameServer);
  return { nameServer: host, port: own ?? (protocol === 'DOT' ? 853 : protocol === 'DOH' ? 443 : 53) };
}
