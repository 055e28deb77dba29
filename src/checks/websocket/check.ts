import { defineCheckType } from '../contract/check-type.ts';
import { assertionsForm, ipFamilyWords, limitsForm } from '../contract/definition/common-form.ts';
import type { FormLayout } from '../contract/definition/form-layout.ts';
import { millisecondsAt, statusCodeDimension } from '../contract/metric.ts';
import { WebSocketDetail } from './detail.ts';
import { webSocketFacts } from './facts.ts';
import { webSocketProblems } from './problems.ts';
import { maskedInWebSocket, WebSocketSpec } from './spec.ts';
import { summaryOf } from './summary.ts';

const phase = (name: string, label: string) =>
  millisecondsAt(name, label, ['response', 'timingPhases', name]);

/** The assertions of a step have the words of all others. */
const stepAssertionsForm: FormLayout = Object.fromEntries(
  Object.entries(assertionsForm).map(([name, layout]) => [
    name.replace('request.', 'request.steps.*.'),
    layout,
  ]),
);

export const webSocket = defineCheckType({
  name: 'WEBSOCKET',
  route: 'websocket',
  title: 'WebSocket monitor',
  lane: 'probe',
  // The longest `timeout`, and the judging of what came.
  timeoutMs: 65_000,
  isSubMinuteAllowed: true,
  hasNetworkErrors: true,
  spec: WebSocketSpec,
  form: {
    'request.url': { label: 'URL', hint: 'Starts with ws:// or wss://; {{VARIABLES}} are filled in.' },
    'request.subprotocols': { label: 'Subprotocols', hint: 'One a line, the preferred one first.', lines: 2 },
    'request.steps': { label: 'Steps', hint: 'Done one after the other; then the connection is closed.' },
    'request.steps.*.type': {
      label: 'It',
      words: { SEND: 'sends', EXPECT: 'expects a message', EXPECT_CLOSE: 'expects that the server closes' },
    },
    'request.steps.*.message': { label: 'Message', hint: 'To send: text, or JSON.', lines: 3, isCode: true },
    'request.steps.*.isBinary': { label: 'To send: the message is base64 of binary data' },
    'request.steps.*.skipOthers': { label: 'To expect: pass over messages that do not fit' },
    'request.steps.*.timeoutMs': { label: 'Waits at most', hint: 'Milliseconds; empty: 5000.' },
    ...stepAssertionsForm,
    'request.steps.*.assertions': {
      label: 'What must hold for the message',
      hint: 'None: any message will do.',
    },
    'request.headers': { label: 'Headers' },
    'request.basicAuth': {
      label: 'Basic authentication',
      words: { '': 'none', object: 'user and password' },
    },
    'request.basicAuth.username': { label: 'User' },
    'request.basicAuth.password': { label: 'Password' },
    'request.skipSSL': { label: 'Take any certificate' },
    'request.serverName': {
      label: 'Name for TLS',
      hint: 'Sent as SNI, and the certificate has to be for it; empty: the host of the URL.',
    },
    'request.ipFamily': ipFamilyWords,
    'request.timeout': {
      label: 'Waits at most',
      hint: 'Seconds for the connection and all steps.',
    },
    'request.traceparentHosts': {
      label: 'Hosts that get a traceparent header',
      hint: 'One a line; * stands for any characters. A trace of theirs then begins with the run.',
    },
    ...assertionsForm,
    'request.assertions': {
      label: 'Assertions',
      hint: 'About the handshake, all messages and the end; all of them must hold.',
    },
    ...limitsForm,
    shouldFail: {
      label: 'The server should refuse',
      hint: 'Passes when the handshake is answered with another status than 101.',
    },
  },
  definitionProblems: webSocketProblems,
  masked: maskedInWebSocket,
  artifactFields: ['pcapDataUrl', 'jobAssets'],
  usesClientCertificates: true,
  detail: WebSocketDetail,
  detailKey: 'webSocketCheckResult',
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
  // What a message does is the server's business.
  isRepeatable: ({ request }) => request.steps.every(({ type }) => type !== 'SEND'),
  // A server that answers with 200 does not switch: that is noticed.
  selfTest: ({ href }) => ({ shouldFail: true, request: { url: href.replace(/^http/, 'ws') } }),
  load: async () => {
    const { runWebSocket, warmUp } = await import('./run.ts');
    await warmUp();
    return { run: runWebSocket };
  },
});
