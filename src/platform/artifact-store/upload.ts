import type { IncomingMessage } from 'node:http';
import { PassThrough, type Readable } from 'node:stream';
import { AppError, toError } from '@picket/lib/errors.ts';

/** A sender that has been silent for this long is considered gone. */
const stallMs = 30_000;
/** How long the rest of a refused upload is read and discarded, so that its sender sees the response, not a reset. */
const lingerMs = 10_000;

/**
 * Passes the bytes of a request to a consumer that may destroy its stream; the connection stays open for the response.
 *
 * @throws the errors of `take`, and AppError MALFORMED_BODY if the sender disconnects.
 */
export async function receiveUpload<T>(
  request: IncomingMessage,
  take: (content: Readable) => Promise<T>,
): Promise<T> {
  const { socket } = request;
  const content = new PassThrough();
  content.on('error', () => undefined); // the reader gets the error
  const onBroken = () => content.destroy(new Error('the upload was interrupted'));
  const onStall = () => request.destroy();
  // Injected requests have no socket that could stall.
  const hasSocket = typeof socket?.setTimeout === 'function';
  if (hasSocket) socket.setTimeout(stallMs, onStall);
  request
    .once('error', onBroken)
    .once('close', onBroken)
    .once('end', () => request.off('close', onBroken));
  if (request.destroyed) onBroken();
  try {
    return await take(request.pipe(content));
  } catch (thrown) {
    if (!(thrown instanceof AppError) && request.destroyed && !request.complete) {
      throw new AppError('MALFORMED_BODY', 'The upload was interrupted.', { cause: toError(thrown) });
    }
    throw thrown;
  } finally {
    request.unpipe(content);
    request.off('error', onBroken).off('close', onBroken);
    if (hasSocket) socket.off('timeout', onStall).setTimeout(0);
    linger(request);
  }
}

/** Reads and discards the rest of a body for a limited time. */
export function linger(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  const timer = setTimeout(() => request.destroy(), lingerMs);
  request.once('close', () => clearTimeout(timer)).once('end', () => clearTimeout(timer));
  request.on('error', () => undefined); // the sender may disconnect now
  request.resume();
}
