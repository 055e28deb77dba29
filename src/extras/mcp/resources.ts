import type { ReadResourceResult, ResourceTemplateType } from '@modelcontextprotocol/server';
import { ResourceNotFoundError } from '@modelcontextprotocol/server';
import { AppError } from '@picket/lib/errors.ts';
import type { Route } from '@picket/protocol/http/route.ts';
import type { CallApi } from '@picket/service/mcp/calls.ts';
import { fileBytes, foreignNotice, isText, mimeTypeOf, sizeOf, tooLarge } from './answers.ts';

interface ResourceSpec {
  /** With `{name}` for a part of the path, and `{+name}` for the rest of it. */
  readonly uriTemplate: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly operation: string;
  /** Names of these parts in the path of the operation. */
  readonly names: Readonly<Record<string, string>>;
  readonly isFile?: true;
  readonly isForeign?: true;
}

const result = 'picket://checks/{checkId}/results/{resultId}';
const sessionResult = 'picket://test-sessions/{testSessionId}/results/{resultId}';

const specs: readonly ResourceSpec[] = [
  {
    uriTemplate: 'picket://checks/{checkId}',
    name: 'check',
    title: 'Check',
    description: 'All settings of a check',
    operation: 'getCheck',
    names: { checkId: 'id' },
  },
  {
    uriTemplate: result,
    name: 'result',
    title: 'Result of a check',
    description: 'A result with its evidence',
    operation: 'getCheckResult',
    names: { checkId: 'checkId', resultId: 'checkResultId' },
    isForeign: true,
  },
  {
    uriTemplate: `${result}/artifacts/{+name}`,
    name: 'artifact',
    title: 'Artifact of a result',
    description: 'A file that a run produced',
    operation: 'getAsset',
    names: { checkId: 'checkId', resultId: 'checkResultId', name: 'name' },
    isFile: true,
    isForeign: true,
  },
  {
    uriTemplate: sessionResult,
    name: 'test-session-result',
    title: 'Result of a test session',
    description: 'A result of a test session with its evidence',
    operation: 'getTestSessionResult',
    names: { testSessionId: 'id', resultId: 'resultId' },
    isForeign: true,
  },
  {
    uriTemplate: `${sessionResult}/artifacts/{+name}`,
    name: 'test-session-artifact',
    title: 'Artifact of a result of a test session',
    description: 'A file that a run of a test session produced',
    operation: 'getTestSessionAsset',
    names: { testSessionId: 'id', resultId: 'resultId', name: 'name' },
    isFile: true,
    isForeign: true,
  },
];

/** Resources that can be read by their address. */
export const resourceTemplates: readonly ResourceTemplateType[] = specs.map(
  ({ uriTemplate, name, title, description, isFile }) => ({
    ...{ uriTemplate, name, title, description },
    ...(isFile ? {} : { mimeType: 'application/json' }),
  }),
);

const forms = specs.map((spec) => ({
  spec,
  pattern: new RegExp(
    `^${spec.uriTemplate.replaceAll(/\{(\+?)(\w+)\}/g, (_, tail: string, name: string) =>
      tail === '' ? `(?<${name}>[^/?#]+)` : `(?<${name}>[^?#]+)`,
    )}$`,
  ),
}));

/** Reads results, checks and files. */
export class Resources {
  readonly #routes: ReadonlyMap<string, Route>;

  constructor(routes: readonly Route[]) {
    this.#routes = new Map(routes.map((route) => [route.operationId, route]));
  }

  /** @throws ResourceNotFoundError, with the message of the operation, also if it refuses. */
  async read(uri: string, call: CallApi): Promise<ReadResourceResult> {
    const { spec, params } = placeOf(uri);
    const route = this.#routes.get(spec.operation);
    if (!route) throw new Error(`there is no operation ${spec.operation}`);
    const range = `bytes=0-${fileBytes - 1}`;
    const answer = await call(route, { params, query: [] }, spec.isFile ? { range } : {}).catch((thrown) => {
      throw thrown instanceof AppError ? new ResourceNotFoundError(uri, thrown.message) : thrown;
    });
    const [mimeType, sizeBytes] = [mimeTypeOf(answer), sizeOf(answer)];
    if (sizeBytes > fileBytes) throw new ResourceNotFoundError(uri, tooLarge(mimeType, sizeBytes));
    const content = isText(mimeType)
      ? { uri, mimeType, text: answer.bytes.toString() }
      : { uri, mimeType, blob: answer.bytes.toString('base64') };
    return {
      contents: spec.isForeign ? [{ uri, mimeType: 'text/plain', text: foreignNotice }, content] : [content],
    };
  }
}

function placeOf(uri: string): { readonly spec: ResourceSpec; readonly params: Record<string, string> } {
  for (const { spec, pattern } of forms) {
    const groups = pattern.exec(uri)?.groups;
    if (!groups) continue;
    const parts = Object.entries(groups).map(([name, value]) => [name, decoded(uri, value)] as const);
    // Parts made of dots would resolve to another path.
    if (parts.some(([, value]) => value.split('/').some((part) => /^\.*$/.test(part)))) break;
    return {
      spec,
      params: Object.fromEntries(parts.map(([name, value]) => [spec.names[name] ?? name, value])),
    };
  }
  throw new ResourceNotFoundError(uri, `There is no resource at ${uri.slice(0, 300)}.`);
}

function decoded(uri: string, value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    throw new ResourceNotFoundError(uri, 'The URI is not encoded correctly.');
  }
}
