import type { Socket } from 'node:net';

/** Rows of a column; `type` is its number in the protocol (3: integer, 253: text). */
export interface Rows {
  readonly rows: readonly (string | Buffer | null)[];
  readonly type?: number;
  readonly column?: string;
  /** Bits of the status at the end. */
  readonly status?: number;
}

export const textOf = (value: string) => Buffer.from(`${value}\0`);

/** Bytes after their length. */
export function sized(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  if (bytes.length < 251) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  const head = Buffer.alloc(9);
  head[0] = 0xfe;
  head.writeBigUInt64LE(BigInt(bytes.length), 1);
  return Buffer.concat([head, bytes]);
}

export function okPacket(status = 2): Buffer {
  return Buffer.from([0, 0, 0, status, 0, 0, 0]);
}

export function endPacket(status = 2): Buffer {
  return Buffer.from([0xfe, 0, 0, status, 0]);
}

export function errorPacket(error: {
  readonly errorCode: number;
  readonly sqlState: string;
  readonly message: string;
}): Buffer {
  const { errorCode, sqlState, message } = error;
  return Buffer.concat([
    Buffer.from([0xff, errorCode & 0xff, errorCode >> 8]),
    Buffer.from(`#${sqlState}${message}`),
  ]);
}

export function columnPacket(name: string, type: number): Buffer {
  const names = ['def', 'shop', 't', 't', name, name].map(sized);
  return Buffer.concat([...names, Buffer.from([12, 45, 0, 255, 0, 0, 0, type, 0, 0, 0, 0, 0])]);
}

/** A result of one column. */
export function resultPackets({ rows, type = 3, column = 'value', status = 2 }: Rows): Buffer[] {
  return [
    Buffer.from([1]),
    columnPacket(column, type),
    endPacket(),
    ...rows.map((value) => (value === null ? Buffer.from([0xfb]) : sized(value))),
    endPacket(status),
  ];
}

/** Packets of a connection, seen from a server. */
export function packets(socket: Socket, firstNumber = 0) {
  let number = firstNumber;
  let buffered: Buffer = Buffer.alloc(0);
  let waiting: { resolve(packet: Buffer): void; reject(error: Error): void } | undefined;
  const deliver = () => {
    if (!waiting || buffered.length < 4) return;
    const end = 4 + buffered.readUIntLE(0, 3);
    if (buffered.length < end) return;
    number = ((buffered[3] ?? 0) + 1) & 0xff;
    const packet = buffered.subarray(4, end);
    buffered = buffered.subarray(end);
    const { resolve } = waiting;
    waiting = undefined;
    resolve(packet);
  };
  const onData = (chunk: Buffer) => {
    buffered = Buffer.concat([buffered, chunk]);
    deliver();
  };
  const onClose = () => waiting?.reject(new Error('the client left'));
  socket.on('data', onData);
  socket.on('close', onClose);
  return {
    get number() {
      return number;
    },
    next: () =>
      new Promise<Buffer>((resolve, reject) => {
        waiting = { resolve, reject };
        if (socket.destroyed) onClose();
        deliver();
      }),
    send(payload: Buffer) {
      const head = Buffer.alloc(4);
      head.writeUIntLE(payload.length, 0, 3);
      head[3] = number;
      number = (number + 1) & 0xff;
      socket.write(Buffer.concat([head, payload]));
    },
    write: (bytes: Buffer) => socket.write(bytes),
    end: () => void socket.end(),
    /** The next packet begins a command. */
    restart() {
      number = 0;
    },
    /** Leaves the socket to TLS; what came too early goes with it. */
    release() {
      socket.off('data', onData);
      socket.off('close', onClose);
      socket.pause();
      if (buffered.length > 0) socket.unshift(buffered);
    },
  };
}
