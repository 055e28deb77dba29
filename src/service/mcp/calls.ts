import type { FastifyRequest } from 'fastify';
import type { Route } from '../../protocol/http/route.ts';
import { accountHeaders } from '../http/auth.ts';
import type { OperationInput } from './tools/tool.ts';

/** What an operation answered. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  /** `Content-Range` of a part of a file. */
  readonly range: string | undefined;
  readonly bytes: Buffer;
}

/** Calls an operation as somebody. */
export type CallApi = (
  route: Route,
  input: OperationInput,
  headers?: Readonly<Record<string, string>>,
) => Promise<Answer>;

/** Who calls, and where: what operations take from the request that a tool was called with. */
const passedOn = ['authorization', 'host', ...accountHeaders] as const;

/**
 * Calls operations as the one who sent a request: as requests of their own that go the whole way through the API,
 * so that authentication, limits, validation, the log and the audit log are those of every other request.
 */
export function callsAs(request: FastifyRequest, signal: AbortSignal): CallApi {
  return async (route, { params, query, body }, headers = {}) => {
    const own = passedOn.flatMap((name) => {
      const value = request.headers[name];
      return value === undefined ? [] : [[name, String(value)] as const];
    });
    const search = new URLSearchParams(
      query.map(([name, value]): [string, string] => [name, value]),
    ).toString();
    const {
      statusCode,
      headers: answered,
      rawPayload,
    } = await request.server.inject({
      method: route.method,
      url: pathOf(route, params) + (search === '' ? '' : `?${search}`),
      headers: {
        ...Object.fromEntries(own),
        ...headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
      remoteAddress: request.ip,
      signal,
    });
    const { 'content-type': contentType, 'content-range': range } = answered;
    return {
      status: statusCode,
      contentType: String(contentType ?? ''),
      range: range === undefined ? undefined : String(range),
      bytes: rawPayload,
    };
  };
}

function pathOf(route: Route, params: OperationInput['params']): string {
  return route.path.replaceAll(/\{(\w+)\}/g, (placeholder, name: string) => {
    const value = encodeURIComponent(params[name] ?? '');
    const isTail = route.hasPathTail && route.path.endsWith(placeholder);
    return isTail ? value.replaceAll('%2F', '/') : value;
  });
}
