import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { Route } from '@picket/protocol/http/route.ts';
import type { ArtifactStore } from '../artifact-store/artifact-store.ts';
import type { ServiceConfig } from '../config/config.ts';
import type { Store, StorePlace } from '../store/store.ts';
import type { AnyHandler } from './handler.ts';

/** The handlers of all operations, working on a store: that of the service, or one within a transaction. */
export type HandlersOn = (store: Store) => ReadonlyMap<string, AnyHandler>;

/** What the service stands on before any feature is there. */
export interface Ground {
  readonly store: Store;
  readonly storePlace: StorePlace;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly config: ServiceConfig;
  readonly artifactStore: ArtifactStore;
  /** PEM texts of authorities that the operator trusts besides the usual ones. */
  readonly caCertificates: readonly string[];
  /** How long a lease lasts unless renewed, in milliseconds. */
  readonly leaseTtlMs: number;
  /** Whether new work is welcome; false while shutting down. */
  readonly isReady: () => boolean;
}

/** What is there before the store. */
export type WaitingGround = Pick<Ground, 'config' | 'artifactStore' | 'clock' | 'logger'>;

/** What features use of each other. Each feature adds what it makes (`declare module`), and `parts` makes it. */
export interface Parts extends Ground {
  /** Every operation of the API. */
  readonly routes: readonly Route[];
  readonly handlersOn: HandlersOn;
}
