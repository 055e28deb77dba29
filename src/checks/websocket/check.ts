import { defineCheckType } from '../contract/check-type.ts';
import { assertionsForm, ipFamilyWords, limitsForm } from '../contract/definition/common-form.ts';
import type { FormLayout } from '../contract/definition/form-layout.ts';
import { withRequest } from '../contract/definition/shorthand.ts';
import { millisecondsAt, statusCodeDimension } from '../contract/metric.ts';
import { diagnosisArtifactFields } from '../judging/diagnosis-facts.ts';
import { WebSocketDetail } from './detail.ts';
import { webSocketFacts } from './facts.ts';
import { webSocketProblems } from './problems.ts';
import { maskedInWebSocket, WebSocketSpec } from './spec.ts';
import { summaryOf } from './summary.ts';

const phase = (name: string, label: string) =>
  millisecondsAt(name, label, ['response', 'timingPhases', name]);

/** The assertions of a step have the same labels as all others. */
const stepAssertionsForm: FormLayout = Object.fromEntries(
  Object.entries(assertionsForm).map(([name, layout]) => [
    name.replace('request.', 'request.steps.*.'),
    layout,
  ]),
);

/** `send: hello` is a conversation of two steps: the message, and any answer. */
function withSteps({
  send,
  ...fields
}: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (send === undefined) return fields;
  const steps = [{ type: 'SEND', message: send }, { type: 'EXPECT' }];
  return withRequest(fields, (request) => ({ steps: request['steps'] ?? steps }));
}

export const webSocket = defineCheckType({
  name: 'WEBSOCKET',
  route: 'websocket',
  title: 'WebSocket monitor',
  icon: 'arrow-both',
  purpose: 'Opens a WebSocket, exchanges messages, and checks them.',
  family: 'web',
  lane: 'probe',
  // The longest `timeout`, and time to judge the response.
  timeoutMs: 65_000,
  isSubMinuteAllowed: true,
  hasNetworkErrors: true,
  spec: WebSocketSpec,
  form: {
    'request.url': {
      label: 'URL',
      hint: '{{VARIABLES}} are filled in.',
      isFirst: true,
      scheme: 'wss',
      names: 'url',
    },
    'request.subprotocols': {
      label: 'Subprotocols',
      hint: 'One per line, in order of preference.',
      lines: 2,
    },
    'request.steps': { label: 'Steps', hint: 'In order; then the connection is closed.' },
    'request.steps.*.type': {
      label: 'It',
      words: { SEND: 'sends', EXPECT: 'expect a message', EXPECT_CLOSE: 'expect the server to close' },
    },
    'request.steps.*.message': { label: 'Message', hint: 'To send: text, or JSON.', lines: 3, isCode: true },
    'request.steps.*.isBinary': { label: 'To send: the message is base64 of binary data' },
    'request.steps.*.skipOthers': { label: 'To expect: skip messages that do not match' },
    'request.steps.*.timeoutMs': { label: 'Timeout', hint: 'Milliseconds; empty: 5000.' },
    ...stepAssertionsForm,
    'request.steps.*.assertions': {
      label: 'Assertions on the message',
      hint: 'Empty: any message matches.',
    },
    'request.headers': { label: 'Headers' },
    'request.basicAuth': {
      label: 'Basic authentication',
      words: { '': 'none', object: 'user name and password' },
    },
    'request.basicAuth.username': { label: 'User' },
    'request.basicAuth.password': { label: 'Password' },
    'request.skipSSL': { label: 'Ignore certificate errors' },
    'request.serverName': {
      label: 'TLS server name',
      hint: 'Sent as SNI and compared with the certificate. Empty: the host of the URL.',
    },
    'request.ipFamily': ipFamilyWords,
    'request.timeout': {
      label: 'Timeout',
      hint: 'Seconds for the connection and all steps.',
    },
    'request.traceparentHosts': {
      label: 'Send a traceparent header to',
      hint: 'Hosts, one per line; * matches any characters. Their traces then begin with the run.',
    },
    ...assertionsForm,
    'request.assertions': {
      label: 'Assertions',
      hint: 'On the handshake, all messages and the close; all must be true.',
      topic: 'assertions',
    },
    ...limitsForm,
    shouldFail: {
      label: 'Expect a refusal',
      hint: 'Passes when the handshake response has a status other than 101.',
      topic: 'limits',
    },
  },
  definitionProblems: webSocketProblems,
  masked: maskedInWebSocket,
  artifactFields: diagnosisArtifactFields,
  usesClientCertificates: true,
  detail: WebSocketDetail,
  detailKey: 'webSocketCheckResult',
  shorthand: { names: ['WS', 'WSS'], schemes: ['ws', 'wss'], complete: withSteps },
  facts: webSocketFacts,
  summary: summaryOf,
  analytics: {
    route: 'websocket-checks',
    metrics: [
      { ...phase('total', 'Total'), overviewAs: 'responseTime' },
      phase('dns', 'DNS lookup'),
      phase('connect', 'Connection'),
      phase('tls', 'Handshake (TLS)'),
      phase('handshake', 'Handshake (WebSocket)'),
      phase('messages', 'Messages'),
    ],
    dimension: statusCodeDimension,
  },
  // A message may change something at the server.
  isRepeatable: ({ request }) => request.steps.every(({ type }) => type !== 'SEND'),
  // A server that responds with 200 does not switch protocols: the run must notice that.
  selfTest: ({ href }) => ({ shouldFail: true, request: { url: href.replace(/^http/, 'ws') } }),
  load: async () => {
    const { runWebSocket, warmUp } = await import('./run.ts');
    await warmUp();
    return { run: runWebSocket };
  },
});
