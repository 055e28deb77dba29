import { toError } from '@picket/lib/errors.ts';
import { ProtoSyntaxError, parseProtoFile } from '@picket/lib/proto/proto-file.ts';
import { hasTemplate } from '@picket/lib/text.ts';
import type { DefinitionProblem } from '../contract/group-defaults.ts';
import { assertionProblems } from '../judging/assertion-problems.ts';
import type { GrpcSpec } from './spec.ts';
import { healthNumber, statusNumber } from './status-words.ts';

/** Returns problems with a gRPC monitor whose fields are valid individually. */
export function grpcProblems({ request }: GrpcSpec): DefinitionProblem[] {
  const { grpcConfig, assertions } = request;
  const inConfig = (field: string, message: string) => ({ path: ['request', 'grpcConfig', field], message });
  const problems: DefinitionProblem[] = [...assertionProblems(assertions)];
  const { message, protoContent, method } = grpcConfig;
  if (message !== '' && !hasTemplate(message)) {
    try {
      JSON.parse(message);
    } catch (thrown) {
      problems.push(inConfig('message', `must be JSON: ${toError(thrown).message}`));
    }
  }
  if (protoContent !== '') {
    const problem = protoProblem(protoContent, method);
    if (problem) problems.push(inConfig(problem.field, problem.message));
  }
  assertions.forEach(({ source, target, comparison }, index) => {
    const refuse = (field: string, text: string) =>
      problems.push({ path: ['request', 'assertions', index, field], message: text });
    if (source === 'GRPC_HEALTHCHECK_STATUS' && grpcConfig.mode !== 'HEALTH') {
      refuse('source', 'needs the mode HEALTH');
    }
    const isNumbered = /EQUALS|_THAN/.test(comparison) && !hasTemplate(target);
    if (source === 'GRPC_HEALTHCHECK_STATUS' && isNumbered && healthNumber(target) === undefined) {
      refuse('target', 'must be UNKNOWN, SERVING, NOT_SERVING or SERVICE_UNKNOWN, or its number');
    }
    if (source === 'GRPC_STATUS_CODE' && isNumbered && statusNumber(target) === undefined) {
      refuse('target', 'must be a status of gRPC, such as 5 or NOT_FOUND');
    }
  });
  return problems;
}

function protoProblem(
  text: string,
  path: string,
): { readonly field: string; readonly message: string } | undefined {
  try {
    const file = parseProtoFile(text);
    if (hasTemplate(path)) return undefined;
    const { service, method } = methodOf(path);
    const prefix = file.package === '' ? '' : `${file.package}.`;
    const found = file.service.find(({ name }) => `${prefix}${name}` === service);
    if (!found) return { field: 'method', message: `protoContent has no service ${service}` };
    const wanted = found.method.find(({ name }) => name === method);
    if (!wanted) return { field: 'method', message: `${service} has no method ${method}` };
    if (wanted.clientStreaming) return { field: 'method', message: clientStreamProblem };
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof ProtoSyntaxError)) throw thrown;
    return { field: 'protoContent', message: `cannot be read: ${thrown.message}` };
  }
}

export const clientStreamProblem =
  'the method takes a stream of messages: unary and server-streaming methods can be called';

/** Splits `package.Service/Method` into its parts. */
export function methodOf(path: string): { readonly service: string; readonly method: string } {
  const [service = '', method = ''] = path.replace(/^\//, '').split('/');
  return { service, method };
}
