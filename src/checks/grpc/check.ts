import { isRecord } from '@picket/lib/json/record.ts';
import { asFast, sameAgain, sameJson } from '../assertable/assertable.ts';
import { defineCheckType } from '../contract/check-type.ts';
import { assertionsForm, ipFamilyWords, limitsForm } from '../contract/definition/common-form.ts';
import { withRequest } from '../contract/definition/shorthand.ts';
import { millisecondsAt } from '../contract/metric.ts';
import { diagnosisArtifactFields } from '../judging/diagnosis-facts.ts';
import { GrpcDetail } from './detail.ts';
import { grpcFacts } from './facts.ts';
import { grpcProblems } from './problems.ts';
import { GrpcSpec, maskedInGrpc } from './spec.ts';
import { summaryOf } from './summary.ts';

const phase = (name: string, label: string) =>
  millisecondsAt(name, label, ['response', 'timingPhases', name]);

/** Without a method there is only the health service to query. */
function withMode({ grpcConfig = {} }: Readonly<Record<string, unknown>>): Record<string, unknown> {
  if (!isRecord(grpcConfig) || 'mode' in grpcConfig || 'method' in grpcConfig) return {};
  return { grpcConfig: { ...grpcConfig, mode: 'HEALTH' } };
}

export const grpc = defineCheckType({
  name: 'GRPC',
  route: 'grpc',
  title: 'gRPC monitor',
  icon: 'arrow-switch',
  purpose: 'Calls a gRPC method or the health service, and checks the response.',
  family: 'web',
  lane: 'probe',
  // The longest `timeout`, and time to judge the response.
  timeoutMs: 185_000,
  isSubMinuteAllowed: true,
  hasNetworkErrors: true,
  spec: GrpcSpec,
  form: {
    'request.url': {
      label: 'Host',
      hint: 'Host name or IP address, without scheme and port.',
      isFirst: true,
      width: 'wide',
      names: 'text',
    },
    'request.port': { label: 'Port', isFirst: true, width: 'narrow' },
    'request.grpcConfig': { label: 'Call' },
    'request.grpcConfig.mode': {
      label: 'Mode',
      hint: '',
      isFirst: true,
      width: 'half',
      words: { BEHAVIOR: 'Call a method', HEALTH: 'Query the health service' },
    },
    'request.grpcConfig.service': {
      label: 'Service',
      hint: 'Service name for the health query; empty: the whole server.',
    },
    'request.grpcConfig.method': {
      label: 'Method',
      hint: 'package.Service/Method, to call a method',
      isFirst: true,
      width: 'half',
    },
    'request.grpcConfig.message': { label: 'Message', hint: 'As JSON.', lines: 4, isCode: true },
    'request.grpcConfig.streamMessages': {
      label: 'Messages of a stream',
      hint: 'The call ends after this many messages; empty: it reads to the end.',
    },
    'request.grpcConfig.serviceDefinition': {
      label: 'Source of the message types',
      words: { REFLECTION: 'Server reflection', PROTO_FILE: 'A .proto file' },
    },
    'request.grpcConfig.protoContent': { label: 'Content of the .proto file', lines: 8, isCode: true },
    'request.grpcConfig.metadata': { label: 'Metadata' },
    'request.grpcConfig.tls': { label: 'Use TLS' },
    'request.skipSSL': { label: 'With TLS: ignore certificate errors' },
    'request.serverName': {
      label: 'TLS server name',
      hint: 'Sent as SNI and compared with the certificate. Empty: the host.',
    },
    'request.ipFamily': ipFamilyWords,
    'request.timeout': { label: 'Timeout', hint: 'Seconds for the connection and the call.' },
    'request.traceparentHosts': {
      label: 'Send a traceparent header to',
      hint: 'Hosts, one per line.',
      lines: 2,
    },
    ...assertionsForm,
    ...limitsForm,
  },
  definitionProblems: grpcProblems,
  masked: maskedInGrpc,
  artifactFields: diagnosisArtifactFields,
  usesClientCertificates: true,
  detail: GrpcDetail,
  detailKey: 'grpcCheckResult',
  shorthand: { complete: (fields) => withRequest(fields, withMode) },
  facts: grpcFacts,
  summary: summaryOf,
  assertable: ({ response }) =>
    response === null
      ? []
      : [
          ...sameAgain('Status code', 'GRPC_STATUS_CODE', response.grpcStatusCode),
          ...asFast(response.timingPhases.total),
          ...(response.truncated ? [] : sameJson('GRPC_RESPONSE', response.responseMessage ?? '')),
        ],
  endpoint: ({ request: { url, port } }) => ({ hostname: url, port }),
  analytics: {
    route: 'grpc-checks',
    metrics: [
      { ...phase('total', 'Total'), overviewAs: 'responseTime' },
      phase('dns', 'DNS lookup'),
      phase('connect', 'Connection'),
      phase('tls', 'Handshake'),
      phase('wait', 'Wait for the response'),
      phase('download', 'Answer'),
    ],
    dimension: { name: 'grpcStatusCode', path: ['response', 'grpcStatusCode'], isNumber: true },
  },
  // Other methods may change something at the server.
  isRepeatable: ({ request }) => request.grpcConfig.mode === 'HEALTH',
  load: async () => {
    const { runGrpc, warmUp } = await import('./run.ts');
    await warmUp();
    return { run: runGrpc };
  },
});
