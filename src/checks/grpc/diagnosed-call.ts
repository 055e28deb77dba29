import { ProtoError, ProtoMethod } from '../../lib/proto/registry.ts';
import { ProbeError } from '../../probes/connection/errors.ts';
import { type GrpcProbeRequest, type GrpcProbeResult, probeGrpc } from '../../probes/grpc/probe.ts';
import { type Failure, failure } from '../contract/failure.ts';
import type { Outcome, Runner } from '../contract/outcome.ts';
import { measurementOf, toMicroseconds, unjudged, withDiagnosisTime } from '../contract/outcome.ts';
import type { RunContext } from '../contract/run-context.ts';
import { jobLogOf } from '../contract/run-log.ts';
import { withDiagnosis } from '../evidence/diagnosis.ts';
import { type Evidence, noEvidence } from '../evidence/evidence.ts';
import { connectionObstacle, repeatConnection } from '../evidence/repeat-connection.ts';
import { expiryOf } from '../http/certificate.ts';
import { clientCertificateFor } from '../http/client-certificate.ts';
import { socksProxy } from '../http/location-proxy.ts';
import { evaluateAssertions } from '../judging/evaluate.ts';
import { probeFailure } from '../judging/probe-failure.ts';
import { judge } from '../judging/verdict.ts';
import { logFamily, wantedFamily } from '../judging/wanted-family.ts';
import { type ReadAnswer, readAnswer } from './answer.ts';
import type { GrpcDetail } from './detail.ts';
import { healthPath, healthRequest } from './health.ts';
import { clientStreamProblem } from './problems.ts';
import { type PreparedCall, prepareCall } from './request.ts';
import type { GrpcSpec } from './spec.ts';
import { healthLabel, statusLabel } from './status-words.ts';
import { requestView, responseView, sourcesOf } from './view.ts';

/** What an answer may hold: as much as is read of a stream and of any message. */
const limits = { bytes: 1024 * 1024, messages: 1000 };

/** Runs a gRPC monitor: connects, learns the types where it has to, calls, and judges the answer. */
export const callAndJudge: Runner<GrpcSpec, GrpcDetail> = async (spec, context) => {
  const startMs = performance.now();
  const ready = prepareCall(spec.request, context.variables);
  if ('failure' in ready) return unsentOutcome(spec, context, ready.failure);
  const { prepared } = ready;
  const planning = { types: prepared.types };
  const located = socksProxy(context);
  if ('failure' in located) return unsentOutcome(spec, context, located.failure);
  const request = { ...probeRequestOf(spec, { prepared, planning }, context), proxy: located.proxy };
  const spentMs = performance.now() - startMs;
  const controls = {
    resolver: context.resolver,
    egress: context.egress,
    signal: context.signal,
    timeoutMs: Math.min(context.timeoutMs, spec.request.timeout * 1000) - spentMs,
  };
  const { result, evidence, diagnosisMs } = await withDiagnosis<GrpcProbeResult>(
    {
      hold: (onAttempt) => probeGrpc(request, { ...controls, onAttempt }),
      failureOf: ({ error }) => error && probeFailure(error),
      obstacleTo: ({ error }) => connectionObstacle(request, error),
      isSeenHanging: !request.proxy,
      repetition: (peer) => ({
        what: 'connection',
        run: (given) => repeatConnection(connectionOf(request), peer, { ...controls, ...given }),
      }),
    },
    controls,
    context,
  );
  logFamily(prepared.hostname, result.address, request.family, context.log);
  const answer = readAnswer(result, planning.types);
  const { measurement, workMs } = result;
  const measured = withDiagnosisTime(
    {
      measurement: measurementOf({ ...measurement, workMs: workMs + answer.workMs }),
      responseTimeMs: toMicroseconds(result.phases.total),
      ...expiryOf(result.certificate),
    },
    diagnosisMs,
  );
  const run = { prepared, result, answer, evidence, types: planning.types };
  return { ...judgedOutcome(spec, context, run), ...measured };
};

function probeRequestOf(
  { request }: GrpcSpec,
  {
    prepared,
    planning,
  }: { readonly prepared: PreparedCall; readonly planning: { types: ProtoMethod | undefined } },
  context: RunContext,
): GrpcProbeRequest {
  const { hostname, serverName, metadata, service, method, message, healthService } = prepared;
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

interface Run {
  readonly prepared: PreparedCall;
  readonly result: GrpcProbeResult;
  readonly answer: ReadAnswer;
  readonly evidence: Evidence;
  readonly types: ProtoMethod | undefined;
}

function judgedOutcome(
  spec: GrpcSpec,
  context: RunContext,
  { prepared, result, answer, evidence, types }: Run,
): Omit<Outcome<GrpcDetail>, 'responseTimeMs'> {
  const detail: GrpcDetail = {
    ...emptyDetail(spec, context, prepared),
    response: responseView(spec.request, { prepared, result, answer, types }),
    requestError: answer.failure?.message ?? null,
    ...evidence,
  };
  if (answer.failure) return { ...unjudged(answer.failure), detail };
  const responseTimeMs = toMicroseconds(result.phases.total);
  const assertions = evaluateAssertions(prepared.assertions, sourcesOf(result, answer, responseTimeMs));
  const verdict = judge({
    responseTimeMs,
    degradedResponseTime: spec.degradedResponseTime,
    maxResponseTime: spec.maxResponseTime,
    assertions,
    operationFailure: statusFailure(spec, answer),
  });
  return { ...verdict, detail: { ...detail, assertions, jobLog: jobLogOf(context.log) } };
}

/**
 * Why the status counts as a failure. A check that asserts something about the status, or about that of the health
 * service, says itself what it has to be.
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

/** The definition could not be made into a call. */
function unsentOutcome(spec: GrpcSpec, context: RunContext, failed: Failure): Outcome<GrpcDetail> {
  const detail = { ...emptyDetail(spec, context, undefined), requestError: failed.message };
  return { ...unjudged(failed), responseTimeMs: 0, detail };
}

function emptyDetail(
  { request }: GrpcSpec,
  { log }: RunContext,
  prepared: PreparedCall | undefined,
): GrpcDetail {
  return {
    assertions: [],
    request: requestView(request, prepared),
    response: null,
    requestError: null,
    jobLog: jobLogOf(log),
    ...noEvidence,
  };
}
