import type { Signal } from '../store/engine/signals.ts';
import type { Repositories } from '../store/repositories.ts';
import type { Store } from '../store/store.ts';

/**
 * Returns a store that works within one open transaction: nested transactions join it, and signals wait until it ends.
 */
export function storeWithin(store: Store, repositories: Repositories): { store: Store; signals: Signal[] } {
  const signals: Signal[] = [];
  const within: Store = {
    ...store,
    ...repositories,
    transaction: (work) => work(repositories),
    leaderTransaction: (work) => work(repositories),
    signals: {
      send: (some) => signals.push(...some),
      subscribe: (listener) => store.signals.subscribe(listener),
    },
  };
  return { store: within, signals };
}
