import { type AnyHandler, type HandlerDeps, handlersById } from '@picket/platform/feature/handler.ts';
import type { LocationCaller } from '@picket/platform/ids/callers.ts';
import { agentRoutes, type ResultReceipt } from '@picket/protocol/agent/agent.ts';
import type { FastifyReply } from 'fastify';
import { sentSettings } from '../agent-presence/location-settings.ts';
import type { Ledger } from './ledger.ts';
import type { RunRow } from './tables.ts';

/** Accepts the results of a batch and returns a receipt for each. */
interface ResultIntake {
  ingest(
    location: LocationCaller,
    reporter: { readonly agentId: string; readonly sessionId: string },
    items: readonly unknown[],
  ): Promise<ResultReceipt[]>;
}

/** Routes that agents call. */
export function agentHandlers(
  deps: HandlerDeps & { readonly ledger: Ledger; readonly ingest: ResultIntake },
): [string, AnyHandler][] {
  const { ledger, ingest, clock, logger, store } = deps;
  return handlersById(agentRoutes, {
    async claim({ caller, body, reply }) {
      const connection = watchConnection(reply);
      const { runs, cancelledRunIds, isDismissed } = await ledger.claim(caller, body, connection.gone);
      connection.onLost(runs, async (lost) => {
        logger.info({ runs: lost.length }, 'agent disconnected before receiving its runs; requeued');
        await ledger.requeue(lost);
      });
      const leased = await ledger.leasedRuns(caller, runs).catch(async (thrown: unknown) => {
        await ledger.requeue(runs);
        throw thrown;
      });
      // The caller was read when the poll arrived.
      const row = isDismissed ? await store.locations.find(caller.account_id, caller.id) : caller;
      return {
        serverTime: clock.wallMs(),
        leaseTtlMs: ledger.leaseTtlMs,
        runs: leased,
        cancelledRunIds: [...cancelledRunIds],
        settings: sentSettings(row ?? caller),
      };
    },
    async renew({ caller, body }) {
      const { lostRunIds, cancelledRunIds } = await ledger.renew(caller, body);
      return { serverTime: clock.wallMs(), leaseTtlMs: ledger.leaseTtlMs, lostRunIds, cancelledRunIds };
    },
    async release({ caller, body }) {
      const released = await ledger.release(caller, body);
      return { serverTime: clock.wallMs(), released };
    },
    async results({ caller, body }) {
      const items = await ingest.ingest(caller, body, body.results);
      return { serverTime: clock.wallMs(), items };
    },
  });
}

interface WatchedConnection {
  /** Aborts if the caller disconnects before the response was handed to the network. */
  readonly gone: AbortSignal;
  /** Calls `requeue` with the runs if that happens after they were leased. */
  onLost(runs: readonly RunRow[], requeue: (runs: readonly RunRow[]) => Promise<void>): void;
}

/** Detects a caller that disconnects while its poll waits, or before its response is written. */
function watchConnection(reply: FastifyReply): WatchedConnection {
  const gone = new AbortController();
  let isWritten = false;
  reply.raw.once('finish', () => {
    isWritten = true;
  });
  reply.raw.once('close', () => {
    if (!isWritten) gone.abort();
  });
  return {
    gone: gone.signal,
    onLost(runs, requeue) {
      if (runs.length === 0) return;
      const act = () => {
        requeue(runs).catch((thrown: unknown) => {
          reply.log.warn(
            { err: thrown },
            'failed to requeue the runs of a disconnected agent; their leases will expire',
          );
        });
      };
      if (gone.signal.aborted) act();
      else gone.signal.addEventListener('abort', act, { once: true });
    },
  };
}
