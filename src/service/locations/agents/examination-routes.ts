import type { IncomingMessage } from 'node:http';
import { AppError } from '@picket/lib/errors.ts';
import { packageVersion } from '@picket/lib/version.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '@picket/platform/feature/handler.ts';
import { examinationRoutes, maxExaminationBytes } from '@picket/protocol/agent/agent-examination.ts';
import { sentSettings } from '../../agent-presence/location-settings.ts';
import { isOutdated } from '../../agent-presence/presence.ts';

/** A sender that is silent for this long has gone. */
const stallMs = 30_000;
/** Limit for reading the rest of a body that is too large. */
const maxReadBytes = 8 * maxExaminationBytes;

/** Routes that `picket doctor` calls. Nothing is stored, and no agent counts as seen. */
export function agentExaminationHandlers({
  clock,
  store,
  analytics,
}: HandlerDeps & { readonly analytics: { examine(): Promise<string | null> } }): [string, AnyHandler][] {
  return handlersById(examinationRoutes, {
    async examineConnection({ caller, query, request }) {
      const receivedBytes = await discard(request.raw);
      return {
        serverTime: clock.wallMs(),
        version: packageVersion(),
        location: { slugName: caller.slug_name, name: caller.name },
        agentSettings: sentSettings(caller),
        isOutdated: isOutdated(query.agentVersion),
        storageProblem: (await store.writeProblem())?.message ?? null,
        analyticsProblem: await analytics.examine(),
        receivedBytes,
      };
    },
  });
}

/**
 * Reads a body to its end and discards it. A body that is too large is read on so that its sender gets the response
 * instead of a connection reset.
 *
 * @throws AppError PAYLOAD_TOO_LARGE, or MALFORMED_BODY if it ends early or stalls.
 */
async function discard(request: IncomingMessage): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  let receivedBytes = 0;
  const onBroken = () => reject(new AppError('MALFORMED_BODY', 'The request body ended early.'));
  const onStall = () => request.destroy();
  const { socket } = request;
  socket.setTimeout(stallMs, onStall);
  request
    .on('data', (chunk: Buffer) => {
      receivedBytes += chunk.length;
      if (receivedBytes > maxReadBytes) request.destroy();
      else if (receivedBytes > maxExaminationBytes) reject(tooLarge());
    })
    .once('end', () => resolve(receivedBytes))
    .once('error', onBroken)
    .once('close', onBroken);
  if (request.readableEnded) resolve(0);
  try {
    return await promise;
  } finally {
    socket.off('timeout', onStall).setTimeout(0);
  }
}

function tooLarge(): AppError {
  return new AppError('PAYLOAD_TOO_LARGE', `The body has at most ${maxExaminationBytes} bytes.`);
}
