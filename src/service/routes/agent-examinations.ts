import type { IncomingMessage } from 'node:http';
import { AppError } from '../../lib/errors.ts';
import { packageVersion } from '../../lib/version.ts';
import { examinationRoutes, maxExaminationBytes } from '../../protocol/agent-examination.ts';
import { isOutdated } from '../agent-versions.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from './handler.ts';

/** A sender of whom nothing is heard for this long has gone. */
const stallMs = 30_000;

/** What `picket doctor` asks. Nothing is stored, and no agent counts as seen. */
export function agentExaminationHandlers({ clock }: HandlerDeps): [string, AnyHandler][] {
  return handlersById(examinationRoutes, {
    async examineConnection({ caller, query, request }) {
      const receivedBytes = await discard(request.raw);
      return {
        serverTime: clock.wallMs(),
        version: packageVersion(),
        location: { slugName: caller.slug_name, name: caller.name },
        isOutdated: isOutdated(query.agentVersion),
        receivedBytes,
      };
    },
  });
}

/** Reads a body to its end and forgets it. @throws AppError PAYLOAD_TOO_LARGE, or MALFORMED_BODY when it breaks off. */
async function discard(request: IncomingMessage): Promise<number> {
  let receivedBytes = 0;
  request.socket.setTimeout(stallMs, () => request.destroy());
  try {
    for await (const chunk of request) {
      receivedBytes += (chunk as Buffer).length;
      if (receivedBytes > maxExaminationBytes) break;
    }
  } catch (thrown) {
    throw new AppError('MALFORMED_BODY', 'The body was broken off.', { cause: thrown });
  } finally {
    request.socket.setTimeout(0);
  }
  if (receivedBytes <= maxExaminationBytes) return receivedBytes;
  throw new AppError('PAYLOAD_TOO_LARGE', `The body has at most ${maxExaminationBytes} bytes.`);
}
