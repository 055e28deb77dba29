import type { Socket } from 'node:net';
import { Connection } from '../connection/connection.ts';
import { classifyError, ProbeError } from '../connection/errors.ts';
import { joinedMeasurement } from '../kernel-thread/socket-watch.ts';
import { ownAnswer, type Resolver } from '../resolver.ts';
import { noAnswer, type QueryControls, type Settle, withinLimits } from './limits.ts';
import { type DnsServer, serverText } from './server.ts';
import { malformed, type SentQuery, type TimedMessage } from './udp.ts';
import { DnsDecodeError, type DnsMessage, decodeMessage, mismatch } from './wire/message.ts';

/** Length prefix of every message (RFC 1035 section 4.2.2). */
const lengthBytes = 2;

/**
 * Sends a query over a fresh TCP connection (RFC 7766) or TLS connection (RFC 7858) and reads the first message. A
 * message has at most 65535 bytes, because its length prefix has two bytes; data after it is not read. The time
 * includes making the connection.
 *
 * @throws ProbeError
 */
export function queryStream(
  query: SentQuery,
  server: DnsServer,
  isSecure: boolean,
  controls: QueryControls,
): Promise<TimedMessage> {
  const where = serverText(server);
  const startMs = performance.now();
  const connection = new Connection({
    hostname: server.hostname,
    port: server.port,
    isSecure,
    family: server.family,
    isCertificateChecked: true,
    clientIdentity: undefined,
    proxy: undefined,
    alpnProtocols: ['dot'],
  });
  const start = ({ resolve, reject }: Settle<TimedMessage>) => {
    const means = { ...controls, resolver: knownAddress(server) };
    connection.open(means, (error, socket) => {
      if (error || !socket) return reject(error);
      let sentMs = 0;
      receive(socket, query, where, {
        reject,
        resolve: ({ message, eventMs }) => {
          const arrivedMs = connection.arrivalOf(connection.receivedBytes, eventMs);
          const { tcpMs, tlsMs } = connection.times;
          const elapsedMs = tcpMs + tlsMs + Math.max(0, arrivedMs - sentMs);
          const measurement = joinedMeasurement([connection], eventMs - startMs - elapsedMs);
          resolve({ message, elapsedMs, measurement });
        },
      });
      const length = Buffer.alloc(lengthBytes);
      length.writeUInt16BE(query.bytes.length);
      // One write: some servers respond with an error to a length prefix that arrives alone.
      connection.beforeSending();
      const beforeMs = performance.now();
      socket.write(Buffer.concat([length, query.bytes]));
      sentMs = connection.sentSince(beforeMs);
    });
    return () => connection.destroy();
  };
  return withinLimits(controls, where, start, () =>
    noAnswer(where, controls.timeoutMs, connection.silentMs()),
  );
}

/** Returns the known address, so that connecting does not resolve it again. */
export function knownAddress({ address, family }: DnsServer): Resolver {
  return {
    resolve: (_hostname, _family, { onMeasured } = {}) => {
      onMeasured?.(ownAnswer);
      return Promise.resolve([{ address, family }]);
    },
  };
}

function receive(
  socket: Socket,
  query: SentQuery,
  where: string,
  settle: Settle<{ readonly message: DnsMessage; readonly eventMs: number }>,
): void {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  let wantedBytes = lengthBytes;
  socket.on('error', (error) => settle.reject(classifyError(error, 'firstByte', where)));
  socket.on('close', () => {
    const progress = sizeBytes === 0 ? 'without' : 'in the middle of';
    const message = `${where} closed the connection ${progress} a response`;
    settle.reject(new ProbeError('connection-reset', 'firstByte', message));
  });
  socket.on('data', (chunk: Buffer) => {
    const eventMs = performance.now();
    chunks.push(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes < wantedBytes) return;
    const received = Buffer.concat(chunks);
    wantedBytes = lengthBytes + received.readUInt16BE(0);
    if (sizeBytes < wantedBytes) return;
    try {
      const message = decodeMessage(received.subarray(lengthBytes, wantedBytes), query.question.class);
      const problem = mismatch(message, query.question, query.id);
      // No third party can write into this connection: the server itself sent a wrong message.
      if (problem !== undefined) settle.reject(malformed(where, new Error(problem)));
      else settle.resolve({ message, eventMs });
    } catch (thrown) {
      settle.reject(thrown instanceof DnsDecodeError ? malformed(where, thrown) : thrown);
    }
  });
}
