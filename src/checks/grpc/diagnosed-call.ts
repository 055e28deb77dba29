import { ProtoError, ProtoMethod } from '@picket/lib/proto/registry.ts';
import { ProbeError } from '@picket/probes/connection/errors.ts';
import { type GrpcProbeRequest, type GrpcProbeResult, probeGrpc } from '@picket/probes/grpc/probe.ts';
import { type Failure, failure } from '../contract/failure.ts';
import { measurementOf, toMicroseconds } from '../contract/outcome.ts';
import type { RunContext } from '../contract/run-context.ts';
import { expiryOf } from '../http/certificate.ts';
import { clientCertificateFor } from '../http/client-certificate.ts';
import { socksProxy } from '../http/location-proxy.ts';
import { logFamily, wantedFamily } from '../judging/wanted-family.ts';
import { withConnectionDiagnosis } from '../runner/diagnosed-connection.ts';
import { noEvidence } from '../runner/evidence.ts';
import { type ProbeRun, probeRunner, type Reading } from '../runner/probe-runner.ts';
import { type ReadAnswer, readAnswer } from './answer.ts';
import type { GrpcDetail } from './detail.ts';
import { healthPath, healthRequest } from './health.ts';
import { clientStreamProblem } from './problems.ts';
import { type PreparedCall, prepareCall } from './request.ts';
import type { GrpcSpec } from './spec.ts';
import { healthLabel, statusLabel } from './status-words.ts';
import { requestView, responseView, sourcesOf } from './view.ts';

/** Limits of a response: per stream and per message. */
const limits = { bytes: 1024 * 1024, messages: 1000 };

type Run = ProbeRun<GrpcSpec, Exclude<ReturnType<typeof prepare>, { failure: Failure }>>;
type OwnDetail = Pick<GrpcDetail, 'request' | 'response'>;

/** Runs a gRPC monitor: connects, requests the types by reflection if necessary, calls, and judges the response. */
export const callAndJudge = probeRunner({
  prepare,
  unsent: ({ request }) => ({ request: requestView(request, undefined), response: null, ...noEvidence }),
  timeoutMs: ({ request }) => request.timeout * 1000,
  hold: ({ prepared: { request }, controls, context }: Run) =>
    withConnectionDiagnosis<GrpcProbeResult>(
      {
        proxy: request.proxy,
        hold: (onAttempt) => probeGrpc(request, { ...controls, onAttempt }),
        target: () => connectionOf(request),
      },
      controls,
      context,
    ),
  read,
});

function prepare(spec: GrpcSpec, context: RunContext) {
  const call = prepareCall(spec.request, context.variables);
  if ('failure' in call) return call;
  const located = socksProxy(context);
  if ('failure' in located) return located;
  const planning = { types: call.types };
  return {
    call,
    planning,
    request: { ...probeRequestOf(spec, call, planning, context), proxy: located.proxy },
  };
}

/** @param planning receives the types of the method if they come from the server. */
function probeRequestOf(
  { request }: GrpcSpec,
  { hostname, serverName, metadata, service, method, message, healthService }: PreparedCall,
  planning: { types: ProtoMethod | undefined },
  context: RunContext,
): GrpcProbeRequest {
  const { tls, streamMessages } = request.grpcConfig;
  const path = `/${service}/${method}`;
  const planOf = (types: ProtoMethod) => ({
    path,
    message: types.encode(message),
    isServerStream: types.isServerStream,
    wantedMessages: streamMessages,
  });
  return {
    ...{ hostname, port: request.port, metadata, limits },
    family: wantedFamily(request.ipFamily, context.log),
    tls: tls
      ? {
          isCertificateChecked: !request.skipSSL,
          serverName,
          clientIdentity: clientCertificateFor(hostname, context.clientCertificates),
        }
      : undefined,
    call:
      healthService !== undefined
        ? {
            path: healthPath,
            message: healthRequest(healthService),
            isServerStream: false,
            wantedMessages: null,
          }
        : planning.types
          ? planOf(planning.types)
          : {
              symbol: service,
              plan(files) {
                planning.types = reflectedTypes(files, { service, method });
                try {
                  return planOf(planning.types);
                } catch (thrown) {
                  throw unplanned(thrown, 'request-invalid');
                }
              },
            },
  };
}

function reflectedTypes(...[files, method]: ConstructorParameters<typeof ProtoMethod>): ProtoMethod {
  try {
    const types = new ProtoMethod(files, method);
    if (types.isClientStream) throw new ProbeError('request-invalid', 'firstByte', clientStreamProblem);
    return types;
  } catch (thrown) {
    throw unplanned(thrown, 'reflection-failed');
  }
}

function unplanned(thrown: unknown, kind: 'request-invalid' | 'reflection-failed'): unknown {
  if (!(thrown instanceof ProtoError)) return thrown;
  const prefix = kind === 'reflection-failed' ? 'server reflection: ' : '';
  return new ProbeError(kind, 'firstByte', `${prefix}${thrown.message}`);
}

function connectionOf({ family, tls }: GrpcProbeRequest) {
  return {
    family,
    serverName: tls?.serverName,
    isCertificateChecked: tls?.isCertificateChecked ?? true,
    clientIdentity: tls?.clientIdentity,
    alpnProtocols: ['h2'],
  };
}

function read({ spec, prepared, context }: Run, result: GrpcProbeResult): Reading<OwnDetail> {
  const { call, planning, request } = prepared;
  logFamily(call.hostname, result.address, request.family, context.log);
  const answer = readAnswer(result, planning.types);
  const responseTimeMs = toMicroseconds(result.phases.total);
  const { measurement, workMs } = result;
  const measured = {
    measurement: measurementOf({ ...measurement, workMs: workMs + answer.workMs }),
    responseTimeMs,
    ...expiryOf(result.certificate),
  };
  const detail = {
    request: requestView(spec.request, call),
    response: responseView(spec.request, { prepared: call, result, answer, types: planning.types }),
  };
  if (answer.failure) return { failure: answer.failure, measured, detail };
  return {
    ...{ measured, detail, assertions: call.assertions },
    sources: sourcesOf(result, answer, responseTimeMs),
    limits: spec,
    operationFailure: statusFailure(spec, answer),
  };
}

/**
 * Returns why the status counts as a failure. If the check has an assertion on the status or on the health status, that
 * assertion decides.
 */
function statusFailure(spec: GrpcSpec, { status, healthStatus }: ReadAnswer): Failure | undefined {
  const { assertions } = spec.request;
  const isAsserted = (wanted: string) => assertions.some(({ source }) => source === wanted);
  const isBad = status.code !== 0 && !isAsserted('GRPC_STATUS_CODE');
  const isIll =
    healthStatus !== null &&
    healthLabel(healthStatus) !== 'SERVING' &&
    !isAsserted('GRPC_HEALTHCHECK_STATUS');
  if (spec.shouldFail) {
    if (isBad || isIll || isAsserted('GRPC_STATUS_CODE') || isAsserted('GRPC_HEALTHCHECK_STATUS'))
      return undefined;
    return failure('STATUS_UNEXPECTED', 'The call ended with status OK (the check expects another)');
  }
  if (isBad) {
    const said = status.message === '' ? '' : `: ${status.message}`;
    return failure(
      'STATUS_UNEXPECTED',
      `Unexpected gRPC status ${status.code} (${statusLabel(status.code)})${said}`,
      { grpcStatus: status.code },
    );
  }
  if (!isIll) return undefined;
  return failure('SERVICE_NOT_SERVING', `The health service says ${healthLabel(healthStatus)}, not SERVING`);
}
