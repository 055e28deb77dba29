import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { Credential, KeptBody, Route } from '@picket/protocol/http/route.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { ArtifactStore } from '../artifact-store/artifact-store.ts';
import type { AccountCaller, LocationCaller } from '../ids/callers.ts';
import type { Store } from '../store/store.ts';
import type { CallRequest, ConnectionRoute, Reply } from './exchange.ts';

/** Dependencies of all handlers; those of a noun declare further ones. */
export interface HandlerDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly artifactStore: ArtifactStore;
  /** Public address of the API; without it links are relative. */
  readonly publicUrl?: string | undefined;
  /** Whether the service can mail subscribers of status pages; false when absent. */
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
  readonly body: R extends { readonly keptBodyBytes: number } ? KeptBody | undefined : Field<R, 'body'>;
  readonly caller: CallerOf<R['credential']>;
  readonly request: R extends ConnectionRoute ? FastifyRequest : CallRequest;
  readonly reply: R extends ConnectionRoute ? FastifyReply : Reply;
}

/** Handles a route: returns the body, which the schema of the route's response checks and trims. */
export type Handler<R extends Route = Route> = (
  call: Call<R>,
) => Promise<R extends { response: infer Response extends z.ZodType } ? z.input<Response> : void>;

export type HandlersOf<Routes extends Readonly<Record<string, Route>>> = {
  readonly [Name in keyof Routes]: Handler<Routes[Name]>;
};

/** A handler whose route is unknown to the compiler; the table of routes assigns it at boot. */
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

/** Formats an instant for responses. */
export function iso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** Formats an optional instant for responses. */
export function optionalIso(epochMs: number | null): string | null {
  return epochMs === null ? null : iso(epochMs);
}

/** Returns the base URL of the API: the configured one, else the one of the client's request. */
export function baseUrlOf(
  { protocol, host }: Pick<CallRequest, 'protocol' | 'host'>,
  publicUrl: string | undefined,
): string {
  // Jobs have no host: their links are relative.
  return (publicUrl ?? (host === '' ? '' : `${protocol}://${host}`)).replace(/\/+$/, '');
}
