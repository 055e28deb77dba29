import type { Socket } from 'node:net';

/** A frame of HTTP/2 (RFC 9113 section 4.1). */
export function http2Frame(
  type: number,
  flags: number,
  streamId: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

/** The fields of a response or its trailers, without compression (RFC 7541 section 6.2.2). */
export function fieldBlock(fields: Readonly<Record<string, string>>): Buffer {
  const text = (value: string) => Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
  return Buffer.concat(
    Object.entries(fields).flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]),
  );
}

/** Calls back once the client has sent its request. */
export function onHttp2Request(socket: Socket, answer: () => void): void {
  const prefaceBytes = 24;
  let received = Buffer.alloc(0);
  const read = (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
    for (let at = prefaceBytes; at + 9 <= received.length; at += 9 + received.readUIntBE(at, 3)) {
      if (received[at + 3] !== 1) continue;
      socket.off('data', read);
      socket.resume();
      return answer();
    }
  };
  socket.on('error', () => socket.destroy());
  socket.on('data', read);
}
