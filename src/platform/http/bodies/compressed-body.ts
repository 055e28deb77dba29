import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { AppError } from '@picket/lib/errors.ts';
import type { Route } from '@picket/protocol/http/route.ts';

/** A body with its number of bytes on the wire, which the framework compares with its length. */
type Counted = Readable & { receivedEncodedLength?: number };

/** Whether a body was compressed for transfer. */
export function isCompressed({ 'content-encoding': encoding = '' }: IncomingHttpHeaders): boolean {
  return !['', 'identity'].includes(encoding.toLowerCase());
}

/**
 * Decompresses a body. The limit of the route applies to the output: a small body that unpacks to a large one is
 * refused like the large one, and decompression stops once the response is sent.
 *
 * @throws AppError UNSUPPORTED_MEDIA_TYPE for any encoding except gzip.
 */
export function unpackedBody(headers: IncomingHttpHeaders, body: Readable, answer: ServerResponse): Readable {
  if (!isCompressed(headers)) return body;
  if (headers['content-encoding']?.toLowerCase() !== 'gzip') {
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as it is, or with "Content-Encoding: gzip".');
  }
  const unpacked = createGunzip();
  const counted: Counted = unpacked;
  counted.receivedEncodedLength = 0;
  body.on('data', (chunk: Buffer) => {
    counted.receivedEncodedLength = (counted.receivedEncodedLength ?? 0) + chunk.length;
  });
  body.once('error', (error) => unpacked.destroy(error));
  answer.once('finish', () => {
    body.unpipe(unpacked);
    unpacked.destroy();
    body.resume();
  });
  return body.pipe(unpacked);
}

/**
 * Uploads are stored byte for byte as received.
 *
 * @throws AppError UNSUPPORTED_MEDIA_TYPE if the upload has a content encoding
 */
export function refuseEncodedUpload(route: Pick<Route, 'isBodyRaw'>, headers: IncomingHttpHeaders): void {
  if (!route.isBodyRaw || !isCompressed(headers)) return;
  throw new AppError(
    'UNSUPPORTED_MEDIA_TYPE',
    'Send the bytes of an upload as they are to be stored, without "Content-Encoding".',
  );
}
