import type { Route } from '@picket/protocol/http/route.ts';
import type { FastifyRequest } from 'fastify';

/** The request behind an operation: over HTTP the operation's own request, otherwise the one that triggered it. */
export type CallRequest = Readonly<
  Pick<FastifyRequest, 'ip' | 'protocol' | 'host' | 'url' | 'method' | 'headers' | 'signal'>
>;

/** Response details that an operation may set in addition to the body that it returns. */
export interface Reply {
  code(statusCode: number): Reply;
  header(name: string, value: string | number): Reply;
  headers(values: Readonly<Record<string, string | number>>): Reply;
  type(contentType: string): Reply;
  /** Responds with a text, bytes or a stream in place of the operation's return value. */
  send(content?: unknown): unknown;
}

/** Operations that use the connection of their request: available over HTTP only. */
export type ConnectionRoute = Route &
  ({ readonly isBodyRaw: true } | { readonly isOnConnection: true } | { readonly credential: 'location' });

export function worksOnConnection({ isBodyRaw, isOnConnection, credential }: Route): boolean {
  return isBodyRaw === true || isOnConnection === true || credential === 'location';
}

/** The request of a background job, which has no waiting client. */
export function requestOfJob(ip: string): CallRequest {
  const { signal } = new AbortController();
  return { ip, protocol: 'http', host: '', url: '/', method: 'GET', headers: {}, signal };
}

/** Returns the status of a response: the handler's if its route declares it. 200 means that the handler set none. */
export function successOf({ success, otherSuccess }: Route, statusCode: number): number {
  const isOther = statusCode !== 200 && statusCode === otherSuccess?.statusCode;
  return isOther ? statusCode : success.statusCode;
}
