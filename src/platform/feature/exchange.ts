import type { Route } from '@picket/protocol/http/route.ts';
import type { FastifyRequest } from 'fastify';

/** The request that led to a call of an operation: over HTTP that of the operation itself, otherwise what had it called. */
export type CallRequest = Readonly<
  Pick<FastifyRequest, 'ip' | 'protocol' | 'host' | 'url' | 'method' | 'headers' | 'signal'>
>;

/** What an operation may say of its answer, in addition to the body that it returns. */
export interface Reply {
  code(statusCode: number): Reply;
  header(name: string, value: string | number): Reply;
  headers(values: Readonly<Record<string, string | number>>): Reply;
  type(contentType: string): Reply;
  /** Answers with this, a text, bytes or a stream of them, in place of what the operation returns. */
  send(content?: unknown): unknown;
}

/** Operations that work on the connection of their request: they are there over HTTP only. */
export type ConnectionRoute = Route &
  ({ readonly isBodyRaw: true } | { readonly isOnConnection: true } | { readonly credential: 'location' });

export function worksOnConnection({ isBodyRaw, isOnConnection, credential }: Route): boolean {
  return isBodyRaw === true || isOnConnection === true || credential === 'location';
}

/** The request behind work that no client waits for. */
export function requestOfJob(ip: string): CallRequest {
  const { signal } = new AbortController();
  return { ip, protocol: 'http', host: '', url: '/', method: 'GET', headers: {}, signal };
}

/** The status of an answer: only one that its route declares is taken from its handler. 200 is what none has set. */
export function successOf({ success, otherSuccess }: Route, statusCode: number): number {
  const isOther = statusCode !== 200 && statusCode === otherSuccess?.statusCode;
  return isOther ? statusCode : success.statusCode;
}
