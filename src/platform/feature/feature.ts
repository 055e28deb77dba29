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
 * One noun of the service behind one door: what it keeps, what it answers, and what it does by itself. `features.ts`
 * lists all of them and `compose.ts` puts them together; no other file knows them all.
 */
export interface Feature {
  readonly name: string;
  /** What reads and writes its tables, by the name in the store. */
  readonly repositories?: Readonly<Record<string, RepositoryClass>>;
  /** Its part of the schema, besides the migrations of `store/schema`. */
  readonly migrations?: readonly Migration[];
  /** Answers while the database cannot be reached yet; undefined where the settings want none. */
  waitingServer?(ground: WaitingGround): Promise<FastifyInstance | undefined>;
  /** What has to be in the store before the service starts. */
  prepare?(ground: Ground): Promise<void>;
  /**
   * What it makes for itself and for others, by the name in `Parts`; made in this order, features in the order of
   * their list. What has to be closed is given to `closing`.
   */
  readonly parts?: {
    readonly [Name in keyof Parts]?: (
      parts: Parts,
      closing: AsyncDisposableStack,
    ) => Parts[Name] | Promise<Parts[Name]>;
  };
  /** Connects parts that know nothing of each other, once all are there. */
  connect?(parts: Parts): void;
  /** Its operations, in the order of the reference. */
  readonly routes?: readonly Route[];
  /** The handlers of its operations, by operationId. `parts.store` may be one within a transaction. */
  handlers?(parts: Parts): Iterable<readonly [operationId: string, handler: AnyHandler]>;
  /** The handlers of all operations with something around them, on whatever store. */
  aroundHandlers?(handlers: Handlers, parts: Parts): Handlers;
  /** The same for those of the API and the pages alone. */
  aroundApi?(handlers: Handlers, parts: Parts): Handlers;
  /** What the HTTP server has besides operations. */
  serve?(app: FastifyInstance, parts: Parts, handlers: Handlers): void | Promise<void>;
  /** Why a request is refused at the host that it came to; undefined where all are welcome. */
  refuses?(parts: Parts): ((request: FastifyRequest) => string | undefined) | undefined;
  /** Which requests become connections of another kind. */
  upgrades?(request: IncomingMessage): boolean;
  /** What it does in the background. */
  jobs?(parts: Parts): readonly Job[];
}

/** What a feature adds to the repositories of the store: `interface Repositories extends RepositoriesOf<typeof repositories> {}`. */
export type RepositoriesOf<Kept> = {
  readonly [Name in keyof Kept]: Kept[Name] extends new (
    ...parts: never[]
  ) => infer Repository
    ? Repository
    : never;
};
