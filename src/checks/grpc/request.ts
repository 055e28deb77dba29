import { ProtoSyntaxError, parseProtoFile } from '@picket/lib/proto/proto-file.ts';
import { fileDescriptorOf, ProtoError, ProtoMethod } from '@picket/lib/proto/registry.ts';
import { type Failure, failure } from '../contract/failure.ts';
import { type RequestTrace, traceOf } from '../http/traceparent.ts';
import type { Assertion } from '../judging/assertion.ts';
import { filledAssertions, filledHostname, filledServerName } from '../judging/filled.ts';
import { render } from '../judging/templating.ts';
import { clientStreamProblem, methodOf } from './problems.ts';
import type { GrpcSpec } from './spec.ts';
import { healthNumber, statusNumber } from './status-words.ts';

/** A prepared call: templates filled in. */
export interface PreparedCall {
  readonly hostname: string;
  /** TLS server name; undefined: the host. */
  readonly serverName: string | undefined;
  readonly metadata: readonly { readonly key: string; readonly value: string }[];
  /** Service named in the health request; undefined for another method. */
  readonly healthService: string | undefined;
  readonly service: string;
  readonly method: string;
  /** As JSON. */
  readonly message: string;
  /** The types of the method if the check contains them; undefined: the server provides them. */
  readonly types: ProtoMethod | undefined;
  readonly trace: RequestTrace | undefined;
  readonly assertions: readonly Assertion[];
}

type Prepared = PreparedCall | { readonly failure: Failure };

/** Fills in the templates of a gRPC monitor, or returns what is wrong with the definition. @throws TemplateError */
export function prepareCall(
  request: GrpcSpec['request'],
  variables: Readonly<Record<string, string>>,
): Prepared {
  try {
    return filled(request, variables);
  } catch (thrown) {
    if (thrown instanceof ProtoSyntaxError) {
      return { failure: failure('REQUEST_INVALID', `the .proto file cannot be read: ${thrown.message}`) };
    }
    if (thrown instanceof ProtoError) return { failure: failure('REQUEST_INVALID', thrown.message) };
    throw thrown;
  }
}

function filled(
  { url, grpcConfig, assertions, serverName, traceparentHosts }: GrpcSpec['request'],
  variables: Readonly<Record<string, string>>,
): Prepared {
  const host = filledHostname(url, variables);
  if ('failure' in host) return host;
  const { hostname } = host;
  const named = filledServerName(serverName, variables);
  if ('failure' in named) return named;
  const fill = (text: string) => render(text, variables, 'raw');
  const isHealth = grpcConfig.mode === 'HEALTH';
  const path = isHealth ? 'grpc.health.v1.Health/Check' : fill(grpcConfig.method).trim();
  const { service, method } = methodOf(path);
  if (!/^[\w.]+$/.test(service) || !/^\w+$/.test(method)) {
    const message = `${JSON.stringify(path)} is not a method: it must be package.Service/Method`;
    return { failure: failure('REQUEST_INVALID', message) };
  }
  const types =
    isHealth || grpcConfig.protoContent === ''
      ? undefined
      : typesOf(grpcConfig.protoContent, { service, method });
  if (types?.isClientStream) return { failure: failure('REQUEST_INVALID', clientStreamProblem) };
  const message = fill(grpcConfig.message);
  types?.encode(message);
  const metadata = grpcConfig.metadata.map(({ key, value }) => ({
    key: fill(key),
    value: fill(value).trim(),
  }));
  const trace = traceOf(
    traceparentHosts,
    metadata.flatMap(({ key, value }) => [key, value]),
  );
  return {
    ...{ hostname, ...named, service, method, message, types },
    healthService: isHealth ? fill(grpcConfig.service) : undefined,
    metadata: trace?.isFor(hostname)
      ? [...metadata, { key: 'traceparent', value: trace.traceparent }]
      : metadata,
    trace: trace?.isFor(hostname) ? trace : undefined,
    assertions: filledAssertions(assertions, variables).map(withUsualTarget),
  };
}

function typesOf(text: string, method: { readonly service: string; readonly method: string }): ProtoMethod {
  return new ProtoMethod([fileDescriptorOf(parseProtoFile(text))], method);
}

/** Replaces the names of statuses with their numbers, so that they compare equal. */
function withUsualTarget(assertion: Assertion): Assertion {
  const { source, target } = assertion;
  if (source === 'GRPC_STATUS_CODE') return { ...assertion, target: String(statusNumber(target) ?? target) };
  if (source === 'GRPC_HEALTHCHECK_STATUS') {
    return { ...assertion, target: String(healthNumber(target) ?? target) };
  }
  return assertion;
}
