import type { Clock } from '@picket/lib/clock.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { Route } from '@picket/protocol/http/route.ts';
import type { ArtifactStore } from '../artifact-store/artifact-store.ts';
import type { ServiceConfig } from '../config/config.ts';
import type { Store, StorePlace } from '../store/store.ts';
import type { AnyHandler } from './handler.ts';

/** The handlers of all operations on a given store: that of the service, or one within a transaction. */
export type HandlersOn = (store: Store) => ReadonlyMap<string, AnyHandler>;

/** Base components that exist before any feature. */
export interface Ground {
  readonly store: Store;
  readonly storePlace: StorePlace;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly config: ServiceConfig;
  readonly artifactStore: ArtifactStore;
  /** PEM texts of authorities that the operator trusts besides the usual ones. */
  readonly caCertificates: readonly string[];
  /** Lifetime of a lease without renewal, in milliseconds. */
  readonly leaseTtlMs: number;
  /** Whether new work is accepted; false while shutting down. */
  readonly isReady: () => boolean;
}

/** Components that exist before the store. */
export type WaitingGround = Pick<Ground, 'config' | 'artifactStore' | 'clock' | 'logger'>;

/** Components that features share. Each feature declares its own (`declare module`), and its `parts` creates them. */
export interface Parts extends Ground {
  /** Every operation of the API. */
  readonly routes: readonly Route[];
  readonly handlersOn: HandlersOn;
}
