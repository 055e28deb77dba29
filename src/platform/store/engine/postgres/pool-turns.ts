import { presentAsker } from '@picket/lib/turns/asker.ts';
import { FairQueue } from '@picket/lib/turns/fair-queue.ts';
import type { PostgresPool } from 'kysely';

/** One of five connections is reserved for accounts that hold none. */
const shareForOthers = 5;

/** Queue for the connections of a pool, by account: no account can occupy all of them. */
export function poolTurns(connections: number): FairQueue {
  return new FairQueue({
    name: 'database',
    atOnce: connections,
    // A transaction that holds one connection may need a second one.
    atOnceOfKey: (all) => Math.max(2, all - Math.ceil(all / shareForOthers)),
    waitingPerKey: Number.POSITIVE_INFINITY,
  });
}

/** A pool whose connections accounts get in turns. A turn ends when its connection is released. */
export function inTurns(turns: FairQueue, pool: PostgresPool): PostgresPool {
  return {
    options: pool.options,
    end: () => pool.end(),
    connect() {
      const connected = Promise.withResolvers<Awaited<ReturnType<PostgresPool['connect']>>>();
      const { key, isFirst } = presentAsker();
      const turn = turns.run({ key, isFirst }, async () => {
        const released = Promise.withResolvers<void>();
        const client = await pool.connect();
        // The pool creates the function anew each time it hands out a connection.
        const release = client.release;
        // A constant first: see CONTRIBUTING.md about functions in properties.
        const releaseWithTurn = (error?: boolean) => {
          release.call(client, error);
          released.resolve();
        };
        client.release = releaseWithTurn;
        connected.resolve(client);
        await released.promise;
      });
      turn.catch(connected.reject);
      return connected.promise;
    },
  };
}
