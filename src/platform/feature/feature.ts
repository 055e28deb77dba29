import type { IncomingMessage } from 'node:http';
import type { Route } from '@picket/protocol/http/route.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Job } from '../jobs/job-loop.ts';
import type { RepositoryClass } from '../store/repositories.ts';
import type { Migration } from '../store/schema/migrations.ts';
import type { AnyHandler } from './handler.ts';
import type { Ground, Parts, WaitingGround } from './parts.ts';

export type Handlers = ReadonlyMap<string, AnyHandler>;

/**
 * One noun of the service behind one interface: its storage, its operations and its jobs. `features.ts` lists all
 * features and `compose.ts` assembles them; no other file knows them all.
 */
export interface Feature {
  readonly name: string;
  /** Repositories of its tables, by their names in the store. */
  readonly repositories?: Readonly<Record<string, RepositoryClass>>;
  /** Its part of the schema, besides the migrations of `store/schema`. */
  readonly migrations?: readonly Migration[];
  /** Server for the time before the database is reachable; undefined if the settings disable it. */
  waitingServer?(ground: WaitingGround): Promise<FastifyInstance | undefined>;
  /** Prepares the store before the service starts. */
  prepare?(ground: Ground): Promise<void>;
  /**
   * Components for itself and others, by their names in `Parts`; created in this order, features in the order of their
   * list. Components that need closing are added to `closing`.
   */
  readonly parts?: {
    readonly [Name in keyof Parts]?: (
      parts: Parts,
      closing: AsyncDisposableStack,
    ) => Parts[Name] | Promise<Parts[Name]>;
  };
  /** Connects independent parts once all of them exist. */
  connect?(parts: Parts): void;
  /** Its operations, in the order of the reference. */
  readonly routes?: readonly Route[];
  /** The handlers of its operations, by operationId. `parts.store` may be one within a transaction. */
  handlers?(parts: Parts): Iterable<readonly [operationId: string, handler: AnyHandler]>;
  /** Wraps the handlers of all operations, on any store. */
  aroundHandlers?(handlers: Handlers, parts: Parts): Handlers;
  /** Wraps the handlers of the API and the pages only. */
  aroundApi?(handlers: Handlers, parts: Parts): Handlers;
  /** Adds routes and hooks to the HTTP server besides operations. */
  serve?(app: FastifyInstance, parts: Parts, handlers: Handlers): void | Promise<void>;
  /** Returns a function that gives the reason to refuse a request at its host; undefined if every host is allowed. */
  refuses?(parts: Parts): ((request: FastifyRequest) => string | undefined) | undefined;
  /** Whether a request becomes a connection of another kind. */
  upgrades?(request: IncomingMessage): boolean;
  /** Its background jobs. */
  jobs?(parts: Parts): readonly Job[];
}

/** Repositories that a feature adds: `interface Repositories extends RepositoriesOf<typeof repositories> {}`. */
export type RepositoriesOf<Kept> = {
  readonly [Name in keyof Kept]: Kept[Name] extends new (
    ...parts: never[]
  ) => infer Repository
    ? Repository
    : never;
};
