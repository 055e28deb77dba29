import type { Signal } from '../store/engine/signals.ts';
import type { Repositories } from '../store/repositories.ts';
import type { Store } from '../store/store.ts';

/**
 * A store all of whose work is part of one open transaction: transactions within it are parts of that one, and
 * its signals wait until it is over.
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
