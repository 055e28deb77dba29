import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { AppError, errorCodeOf, isNamedInBody, isStoreFailure, toError } from '@picket/lib/errors.ts';
import { type ErrorBody, pathsOf, type Route } from '@picket/protocol/http/route.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { asStoreError } from '../store/engine/dialect.ts';

/** Gives all errors of the API, including the framework's, the same shape. */
export function answerErrors(app: FastifyInstance, routes: readonly Route[]): void {
  app.setErrorHandler((thrown, request, reply) => answer(toError(thrown), request, reply));
  app.setNotFoundHandler(async (request, reply) => {
    const path = request.url.split('?')[0] ?? '';
    const methods = routes.filter((route) => matches(route, path)).map((route) => route.method as string);
    if (methods.length === 0 || methods.includes(request.method)) {
      throw new AppError('NOT_FOUND', `There is no route ${request.method} ${path.slice(0, 200)}.`);
    }
    if (methods.includes('GET')) methods.push('HEAD');
    const allowed = [...new Set(methods)].join(', ');
    reply.header('allow', allowed);
    throw new AppError('METHOD_NOT_ALLOWED', `${request.method} is not allowed here. Allowed: ${allowed}.`);
  });
}

/** Maps an error of a request to the catalogue, and logs internal errors. */
export function reportError(thrown: Error, request: FastifyRequest): AppError {
  const error = asAppError(thrown, request.routeOptions.bodyLimit);
  if (error.code === 'INTERNAL') request.log.error({ err: thrown, requestId: request.id }, 'internal error');
  else if (error.statusCode >= 500) {
    request.log.warn({ reason: causeOf(error), requestId: request.id }, 'request failed');
  }
  return error;
}

function answer(thrown: Error, request: FastifyRequest, reply: FastifyReply): void {
  const error = reportError(thrown, request);
  if (error.code === 'BAD_TOKEN') reply.header('www-authenticate', 'Bearer');
  if (isStoreFailure(error) || error.code === 'NOT_FINISHED') reply.header('retry-after', '1');
  const retryAfter = error.code === 'RATE_LIMITED' && error.attributes?.retryAfterSeconds;
  if (typeof retryAfter === 'number') reply.header('retry-after', String(retryAfter));
  void reply
    .code(error.statusCode)
    .header('content-type', 'application/json; charset=utf-8')
    .send(
      // Serialized here: the response may belong to a route whose schemas describe success only.
      JSON.stringify(bodyOf(error)),
    );
}

function causeOf(error: AppError): string {
  return error.cause instanceof Error ? error.cause.message : error.message;
}

function bodyOf(error: AppError): ErrorBody {
  return {
    statusCode: error.statusCode,
    error: error.phrase,
    message: error.message,
    ...(isNamedInBody(error.code) ? { code: error.code } : {}),
    ...(error.errorCode === undefined ? {} : { errorCode: error.errorCode }),
    ...(error.attributes ? { attributes: error.attributes } : {}),
    // Clients of comparable systems expect it here.
    ...(typeof error.attributes?.deploymentId === 'string'
      ? { deploymentId: error.attributes.deploymentId }
      : {}),
    ...(error.validation
      ? { validation: { source: error.validation.source, keys: [...error.validation.keys] } }
      : {}),
  };
}

function asAppError(thrown: Error, bodyLimitBytes: number): AppError {
  const error = asStoreError(thrown);
  if (error instanceof AppError && error.statusCode !== 0) return error;
  const code = errorCodeOf(error) ?? '';
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new AppError('PAYLOAD_TOO_LARGE', `The body has at most ${bodyLimitBytes} bytes here.`);
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE_PARAM':
      return new AppError('UNSUPPORTED_MEDIA_TYPE', 'Send the body with "Content-Type: application/json".');
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return new AppError('MALFORMED_BODY', 'The body is empty; this operation needs a JSON document.');
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new AppError('MALFORMED_BODY', 'The body is not valid JSON.');
  }
  if (code.startsWith('Z_')) return new AppError('MALFORMED_BODY', 'The body is not valid gzip.');
  const statusCode = 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : 500;
  if (error instanceof SyntaxError && statusCode === 400) {
    return new AppError('MALFORMED_BODY', 'The body is not valid JSON.');
  }
  if (statusCode >= 400 && statusCode < 500) {
    return new AppError(statusCode === 404 ? 'NOT_FOUND' : 'VALIDATION_FAILED', error.message);
  }
  return new AppError(
    'INTERNAL',
    'Internal service error. The service log has the details under the x-request-id of this response.',
    {
      cause: error,
    },
  );
}

/** Whether a path of the table matches, regardless of the method. */
function matches(route: Route, path: string): boolean {
  return pathsOf(route).some((known) => {
    const tailed = route.hasPathTail ? known.replace(/\{\w+\}$/, '.+') : known.replaceAll('.', '\\.');
    const pattern = tailed.replaceAll(/\{\w+\}/g, '[^/]+');
    return new RegExp(`^${pattern}$`).test(path);
  });
}

/** Responds to bytes that are not an HTTP request, in the shape of the other errors. */
export function badRequestLine(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy(error);
    return;
  }
  const statusLine =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? '408 Request Timeout'
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? '431 Request Header Fields Too Large'
        : '400 Bad Request';
  const statusCode = Number(statusLine.slice(0, 3));
  const body = JSON.stringify({
    statusCode,
    error: statusLine.slice(4),
    message: 'The request is not valid HTTP, or was not sent in time.',
  } satisfies ErrorBody);
  socket.end(
    `HTTP/1.1 ${statusLine}\r\nContent-Type: application/json; charset=utf-8\r\nX-Request-Id: ${randomUUID()}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
