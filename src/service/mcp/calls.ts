import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { toError } from '@picket/lib/errors.ts';
import type { OperationInput } from '@picket/mcp/tools/tool.ts';
import { encodeAnswer } from '@picket/platform/http/answer-encoding.ts';
import { reportError } from '@picket/platform/http/errors.ts';
import { parseQuery } from '@picket/platform/http/query-string.ts';
import type { AccountCaller } from '@picket/platform/ids/callers.ts';
import { Operations } from '@picket/platform/operations/operations.ts';
import type { Route } from '@picket/protocol/http/route.ts';
import type { FastifyRequest } from 'fastify';

/** Response of an operation, as bytes. */
export interface Answer {
  readonly contentType: string;
  /** `Content-Range` of part of a file. */
  readonly range: string | undefined;
  readonly bytes: Buffer;
}

/** Calls an operation as one caller. @throws AppError as the API returns it */
export type CallApi = (
  route: Route,
  input: OperationInput,
  headers?: Readonly<Record<string, string>>,
) => Promise<Answer>;

/**
 * Calls operations as the caller of a request, with the same limits, validation, log and audit log as calls over HTTP.
 */
export function callsAs(request: FastifyRequest, caller: AccountCaller, signal: AbortSignal): CallApi {
  const { handlers, limits, logger, onOddAnswer } = request.server.inside;
  const { id, ip, protocol, host, url, method } = request;
  return async (route, { params, query, body }, headers = {}) => {
    const operations = new Operations({
      handlers,
      caller,
      logger,
      request: { id, ip, protocol, host, url, method, headers, signal },
      spend: (one, reply) => limits?.spend(one, { caller: { kind: 'account', account: caller }, ip }, reply),
    });
    try {
      const text = new URLSearchParams(
        query.map(([name, value]): [string, string] => [name, value]),
      ).toString();
      const answer = await operations.answer(route, { params, query: parseQuery(text), body });
      return {
        contentType: answer.headers['content-type'] ?? route.responseContentType ?? 'application/json',
        range: answer.headers['content-range'],
        bytes: await bytesOf(answer.body, (value) =>
          route.response
            ? encodeAnswer(route.response, value, (where) => onOddAnswer?.({ route: route.path, where }))
            : '',
        ),
      };
    } catch (thrown) {
      throw reportError(toError(thrown), request);
    }
  };
}

async function bytesOf(body: unknown, encode: (value: unknown) => string): Promise<Buffer> {
  if (body instanceof Readable) return buffer(body);
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === 'string' ? body : encode(body));
}
