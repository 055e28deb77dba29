import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { Credential, Route } from '@picket/protocol/http/route.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { ArtifactStore } from '../artifact-store/artifact-store.ts';
import type { AccountCaller, LocationCaller } from '../ids/callers.ts';
import type { Store } from '../store/store.ts';
import type { CallRequest, ConnectionRoute, Reply } from './exchange.ts';

/** What all handlers may work with; those of a noun name what else they need. */
export interface HandlerDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly artifactStore: ArtifactStore;
  /** Where clients reach the API; links are relative without it. */
  readonly publicUrl?: string | undefined;
  /** Whether subscribers of status pages can be mailed; false when absent. */
  readonly hasMailer?: boolean | undefined;
}

type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;
type Field<R, Name extends string> = R extends Record<Name, infer Schema> ? Parsed<Schema> : undefined;

type CallerOf<C extends Credential> = C extends 'location'
  ? LocationCaller
  : C extends 'none'
    ? null
    : C extends 'optional'
      ? AccountCaller | null
      : AccountCaller;

/** A request, authorised and validated. */
export interface Call<R extends Route = Route> {
  readonly params: Field<R, 'params'>;
  readonly query: Field<R, 'query'>;
  readonly body: Field<R, 'body'>;
  readonly caller: CallerOf<R['credential']>;
  readonly request: R extends ConnectionRoute ? FastifyRequest : CallRequest;
  readonly reply: R extends ConnectionRoute ? FastifyReply : Reply;
}

/** Answers a route: returns the body, which the schema of the route's response checks and trims. */
export type Handler<R extends Route = Route> = (
  call: Call<R>,
) => Promise<R extends { response: infer Response extends z.ZodType } ? z.input<Response> : void>;

export type HandlersOf<Routes extends Readonly<Record<string, Route>>> = {
  readonly [Name in keyof Routes]: Handler<Routes[Name]>;
};

/** A handler whose route is not known to the compiler: the table of routes ties them together at boot. */
export type AnyHandler = (call: Call) => Promise<unknown>;

/** Handlers by operationId. */
export function handlersById<Routes extends Readonly<Record<string, Route>>>(
  routes: Routes,
  handlers: HandlersOf<Routes>,
): [string, AnyHandler][] {
  return Object.entries(routes).map(([name, route]) => [
    route.operationId,
    handlers[name] as unknown as AnyHandler,
  ]);
}

/** An instant as answers write it. */
export function iso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** The same for one that may not be. */
export function optionalIso(epochMs: number | null): string | null {
  return epochMs === null ? null : iso(epochMs);
}

/** Where clients reach the API: as configured, or else where this client has reached it. */
export function baseUrlOf(
  { protocol, host }: Pick<CallRequest, 'protocol' | 'host'>,
  publicUrl: string | undefined,
): string {
  // A job has reached it nowhere: its links are relative.
  return (publicUrl ?? (host === '' ? '' : `${protocol}://${host}`)).replace(/\/+$/, '');
}
