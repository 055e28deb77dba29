import { jsonText } from '@picket/lib/json/json-values.ts';
import type { ProtoMethod } from '@picket/lib/proto/registry.ts';
import type { GrpcProbeResult } from '@picket/probes/grpc/probe.ts';
import { familyName } from '../contract/ip-family.ts';
import { timesToMicroseconds, toMicroseconds } from '../contract/outcome.ts';
import { cutText, maxStoredBytes } from '../http/body.ts';
import { certificateDetail } from '../http/certificate.ts';
import { tcpConnectionSource } from '../http/connection-assertion.ts';
import { isCredentialHeader, mask } from '../judging/credential-headers.ts';
import type { Sources } from '../judging/evaluate.ts';
import type { ReadAnswer } from './answer.ts';
import type { GrpcDetail } from './detail.ts';
import type { PreparedCall } from './request.ts';
import type { GrpcSpec } from './spec.ts';
import { healthLabel, statusLabel } from './status-words.ts';

/** Most methods of a service that a result lists. */
const maxMethods = 100;

type Entries = readonly { readonly key: string; readonly value: string }[];

/** The request as sent, or as defined if nothing was sent. */
export function requestView(
  { url, port, ipFamily, skipSSL, serverName, timeout, grpcConfig }: GrpcSpec['request'],
  prepared: PreparedCall | undefined,
): GrpcDetail['request'] {
  const { mode, tls, method, service, message, metadata } = grpcConfig;
  return {
    hostname: prepared?.hostname ?? url,
    ...{ port, ipFamily, mode, tls, skipSSL, timeout },
    serverName: (prepared ? prepared.serverName : serverName) ?? null,
    method: prepared ? `${prepared.service}/${prepared.method}` : method,
    service: mode === 'HEALTH' ? (prepared?.healthService ?? service) : null,
    message: cutText(prepared?.message ?? message).body,
    metadata: shownEntries(prepared?.metadata ?? metadata),
    ...(prepared?.trace && { traceparent: prepared.trace.traceparent }),
  };
}

/** The response as received. */
export function responseView(
  { port, grpcConfig: { mode } }: GrpcSpec['request'],
  {
    prepared,
    result,
    answer,
    types,
  }: {
    readonly prepared: PreparedCall;
    readonly result: GrpcProbeResult;
    readonly answer: ReadAnswer;
    readonly types: ProtoMethod | undefined;
  },
): NonNullable<GrpcDetail['response']> {
  const { address, end, phases, reflectionMs, certificate } = result;
  const { status, document, healthStatus } = answer;
  const { connection, ...others } = phases;
  const stored = document === undefined ? null : cutText(jsonText(document, maxStoredBytes));
  const isReflected = prepared.healthService === undefined && !prepared.types;
  return {
    ...{ grpcMode: mode, host: prepared.hostname, port, resolvedIp: address, ipFamily: familyName(address) },
    grpcMethod: `${prepared.service}/${prepared.method}`,
    responseMessage: stored?.body ?? null,
    truncated: stored?.isCut ?? false,
    messageCount: end?.messages.length ?? 0,
    isStreamLeft: end?.isLeft ?? false,
    grpcStatusCode: status.code,
    grpcStatusName: statusLabel(status.code),
    grpcStatusMessage: status.message,
    isStatusFromServer: status.isFromServer,
    healthStatus,
    healthStatusLabel: healthStatus === null ? null : healthLabel(healthStatus),
    metadata: shownEntries(end?.metadata ?? []),
    trailers: shownEntries(end?.trailers ?? []),
    discoveredMethods: isReflected ? (types?.siblings.slice(0, maxMethods) ?? []) : [],
    timingPhases: timesToMicroseconds({ ...others, connect: connection }),
    reflectionTimeMs: isReflected ? toMicroseconds(reflectionMs) : null,
    certificate: certificateDetail(certificate),
  };
}

/** Masks credentials: they are sent and compared, but not shown. */
function shownEntries(entries: Entries): { key: string; value: string }[] {
  return entries.map(({ key, value }) => ({ key, value: isCredentialHeader(key) ? mask : value }));
}

/** Sources of the assertions of a gRPC monitor. */
export function sourcesOf(result: GrpcProbeResult, answer: ReadAnswer, responseTimeMs: number): Sources {
  const { document, status, healthStatus } = answer;
  const metadata = () => joined([...(result.end?.metadata ?? []), ...(result.end?.trailers ?? [])]);
  return {
    // Assertions compare whole milliseconds; otherwise `EQUALS 120` could never hold.
    RESPONSE_TIME: () => ({ kind: 'value', value: Math.round(responseTimeMs) }),
    GRPC_STATUS_CODE: () => ({ kind: 'value', value: status.code }),
    GRPC_HEALTHCHECK_STATUS: () => ({ kind: 'value', value: healthStatus }),
    GRPC_RESPONSE: () =>
      document === undefined
        ? { kind: 'unavailable', reason: 'the server sent no message' }
        : { kind: 'json', document },
    TEXT_BODY: () => ({ kind: 'text', text: document === undefined ? '' : jsonText(document) }),
    GRPC_METADATA: () => ({ kind: 'headers', headers: metadata() }),
    CONNECTION: () => tcpConnectionSource(result),
  };
}

/** Joins the values of repeated keys. */
function joined(entries: Entries): Record<string, string> {
  const map = new Map<string, string>();
  for (const { key, value } of entries) {
    const known = map.get(key);
    map.set(key, known === undefined ? value : `${known}, ${value}`);
  }
  return Object.fromEntries(map);
}
