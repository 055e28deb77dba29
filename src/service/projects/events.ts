import type { Clock } from '@picket/lib/clock.ts';
import { toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import { Deployment } from '@picket/protocol/projects/project.ts';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';

const lookMs = 300;
/** Interval of lines that keep proxies from closing an idle connection. */
const keepAliveMs = 15_000;

interface Watched {
  /** Reads the current state of the deployment. */
  readonly look: () => Promise<Deployment>;
  /** Progress in percent, if this process is working on it. */
  readonly progress: () => number | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Aborts when the reader disconnects or the service stops. */
  readonly stop: AbortSignal;
}

/**
 * Streams the events of a deployment until it ends, or until it cannot be read, for example without the database. A
 * reader whose connection ends reconnects and continues with the state at that time.
 *
 * @throws AppError NOT_FOUND, before any response is sent.
 */
export async function sendEvents(
  reply: FastifyReply,
  { look, progress, clock, logger, stop }: Watched,
): Promise<void> {
  let state = await look();
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-accel-buffering': 'no',
  });
  const send = (event: string, data: object) =>
    raw.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  let told = -1;
  let toldAt = clock.monotonicMs();
  const tell = (percent: number) => {
    const now = clock.monotonicMs();
    if (percent > told) send('progress', { progress: percent });
    else if (now - toldAt > keepAliveMs) raw.write(':\n\n');
    else return;
    told = Math.max(told, percent);
    toldAt = now;
  };
  try {
    while (state.endedAt === null && !stop.aborted) {
      tell(state.progress);
      await clock.sleep(lookMs, stop);
      // On SQLite no query is served during the transaction of the deployment itself.
      const asked = look();
      for (let seen: Deployment | undefined; seen === undefined && !stop.aborted; ) {
        seen = await Promise.race([asked, clock.sleep(lookMs, stop).then(() => undefined)]);
        if (seen) state = seen;
        else tell(progress() ?? 0);
      }
      // If no longer awaited, the reader has disconnected and misses nothing.
      asked.catch((thrown: unknown) =>
        logger.debug({ deploymentId: state.id, err: toError(thrown) }, 'failed to read a deployment'),
      );
    }
    if (state.endedAt !== null) send('complete', z.encode(Deployment.schema, state));
  } catch (thrown) {
    logger.info(
      { deploymentId: state.id, reason: toError(thrown).message },
      'events of a deployment ended early',
    );
  } finally {
    raw.end();
  }
}
