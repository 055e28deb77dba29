import { addressesWords } from '../addresses/fields.ts';
import { defineCheckType } from '../contract/check-type.ts';
import { assertionsForm, ipFamilyWords, limitsForm } from '../contract/definition/common-form.ts';
import { withRequest } from '../contract/definition/shorthand.ts';
import { millisecondsAt, responseTimeMetric } from '../contract/metric.ts';
import { assertionProblems } from '../judging/assertion-problems.ts';
import { diagnosisArtifactFields } from '../judging/diagnosis-facts.ts';
import { SslDetail } from './detail.ts';
import { sslFacts } from './facts.ts';
import { SslSpec } from './spec.ts';
import { summaryOf } from './summary.ts';

export const ssl = defineCheckType({
  name: 'SSL',
  route: 'ssl',
  title: 'SSL monitor',
  icon: 'shield-lock',
  purpose: 'Checks a certificate: expiry, names, chain and protocol.',
  family: 'network',
  lane: 'probe',
  timeoutMs: 30_000,
  isSubMinuteAllowed: true,
  hasNetworkErrors: true,
  spec: SslSpec,
  form: {
    'request.sslConfig': { label: 'Target' },
    'request.sslConfig.hostname': {
      label: 'Host',
      hint: 'Host name or IP address, without scheme and port.',
      isFirst: true,
      width: 'wide',
      names: 'text',
    },
    'request.sslConfig.port': { label: 'Port', isFirst: true, width: 'narrow' },
    'request.sslConfig.serverName': {
      label: 'TLS server name',
      hint: 'Sent as SNI and compared with the certificate. Empty: the host.',
    },
    'request.sslConfig.startTls': {
      label: 'STARTTLS',
      words: {
        '': 'TLS from the first byte',
        smtp: 'SMTP',
        imap: 'IMAP',
        pop3: 'POP3',
        ldap: 'LDAP',
        postgres: 'PostgreSQL',
        mysql: 'MySQL',
        xmpp: 'XMPP',
      },
    },
    'request.sslConfig.ipFamily': ipFamilyWords,
    'request.sslConfig.addresses': addressesWords,
    'request.sslConfig.alertDaysBeforeExpiry': {
      label: 'Degraded within days of expiry',
      hint: 'Of the first certificate of the chain; empty: never.',
    },
    'request.sslConfig.failDaysBeforeExpiry': {
      label: 'Fails within days of expiry',
      hint: 'Empty: once it has expired.',
    },
    'request.sslConfig.skipChainValidation': { label: 'Accept a chain from an untrusted authority' },
    'request.sslConfig.alpnProtocols': {
      label: 'Protocols offered (ALPN)',
      hint: 'One per line.',
      lines: 2,
    },
    'request.sslConfig.handshakeTimeoutMs': { label: 'Timeout', hint: 'Milliseconds for all steps.' },
    'request.sslConfig.clientCertificateMode': {
      label: 'Client certificate',
      words: { '': 'none', auto: 'that of the account for this host' },
    },
    'request.sslConfig.securityBaseline': { label: 'Security baseline', isFolded: true },
    ...assertionsForm,
    ...limitsForm,
  },
  definitionProblems: ({ request }) => assertionProblems(request.assertions),
  usesClientCertificates: true,
  detail: SslDetail,
  detailKey: 'sslCheckResult',
  shorthand: {
    names: ['TLS', 'CERTIFICATE', 'CERT'],
    complete: (fields) => withRequest(fields, ({ sslConfig }) => ({ sslConfig: sslConfig ?? {} })),
  },
  artifactFields: diagnosisArtifactFields,
  facts: sslFacts,
  summary: summaryOf,
  endpoint: ({ request: { sslConfig } }) => sslConfig,
  analytics: {
    route: 'ssl-monitors',
    metrics: [
      responseTimeMetric,
      millisecondsAt('dns', 'DNS lookup', ['response', 'timingPhases', 'dns']),
      millisecondsAt('connection', 'Connection', ['response', 'timingPhases', 'connection']),
      millisecondsAt('tls', 'Handshake', ['response', 'timingPhases', 'tls']),
      {
        name: 'daysUntilExpiry',
        label: 'Days until the chain expires',
        unit: 'count',
        path: ['response', 'chainDaysUntilExpiry'],
      },
    ],
  },
  isRepeatable: () => true,
  // A server without TLS suffices: the run must notice that.
  selfTest: ({ hostname, port, protocol }) => ({
    shouldFail: protocol === 'http:',
    request: { sslConfig: { hostname, port: Number(port), skipChainValidation: true } },
  }),
  load: async () => {
    const { runSsl, warmUp } = await import('./run.ts');
    await warmUp();
    return { run: runSsl };
  },
});
