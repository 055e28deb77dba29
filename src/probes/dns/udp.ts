import { createSocket } from 'node:dgram';
import { errorCodeOf } from '@picket/lib/errors.ts';
import { isIpv6Enabled } from '../address.ts';
import { classifyError, egressDenied, networkAnswer, ProbeError } from '../connection/errors.ts';
import type { PacketTimes, ProbeMeasurement } from '../kernel-thread/socket-watch.ts';
import { threadTimekeeper } from '../kernel-thread/timekeeper.ts';
import { noAnswer, type QueryControls, withinLimits } from './limits.ts';
import { type DnsServer, serverText } from './server.ts';
import {
  DnsDecodeError,
  type DnsMessage,
  type DnsQuestion,
  decodeMessage,
  mismatch,
} from './wire/message.ts';

/** An encoded query. */
export interface SentQuery {
  readonly question: DnsQuestion;
  readonly id: number;
  readonly bytes: Buffer;
}

/** A response and its timing. */
export interface TimedMessage {
  readonly message: DnsMessage;
  /** Milliseconds from sending the query to the arrival of the response, including making the connection, if any. */
  readonly elapsedMs: number;
  readonly measurement: ProbeMeasurement;
}

/**
 * Sends a query over UDP, once, and takes the first datagram that answers it. Each query has a socket of its own: a
 * fresh source port, which the kernel picks at random, and as the socket is connected, the kernel drops datagrams from
 * any other address or port. Datagrams with another id or question, and those that are not DNS messages, are ignored
 * until the time limit (RFC 5452 section 9.1): an off-path attacker can neither answer the query nor suppress the
 * server's response. If the limit passes with no readable datagram, or with nothing better than an invalid message with
 * our id, the response was malformed.
 *
 * @throws ProbeError
 */
export function queryUdp(
  query: SentQuery,
  server: DnsServer,
  controls: QueryControls,
): Promise<TimedMessage> {
  const where = serverText(server);
  const { timekeeper = threadTimekeeper() } = controls;
  const startMs = performance.now();
  let sentMs = 0;
  let ignoredCount = 0;
  let lastIgnored = '';
  let isAnyReadable = false;
  /** Invalid DNS messages: the first one with our id, and the first one overall. */
  let senseless: Error | undefined;
  let garbage: Error | undefined;
  let waiting: NodeJS.Timeout | undefined;
  const noBetter = () => {
    const found = senseless ?? (isAnyReadable ? undefined : garbage);
    const waited = `nothing else arrived within ${Math.round(performance.now() - startMs)} ms`;
    return found && malformed(where, new Error(`${found.message}; ${waited}`));
  };
  const remark = () =>
    ignoredCount === 0 ? '' : `; ignored ${ignoredCount} that did not match (the last one: ${lastIgnored})`;

  return withinLimits(
    controls,
    where,
    ({ resolve, reject }) => {
      const refusal = controls.egress.refusal(server);
      if (refusal) throw egressDenied('firstByte', refusal);
      const socket = createSocket(server.family === 6 ? 'udp6' : 'udp4');
      let times: PacketTimes | undefined;
      socket.on('error', (error) => reject(socketError(error, server, where)));
      socket.on('message', (bytes) => {
        const eventMs = performance.now();
        const elapsedMs = times?.elapsedMs() ?? eventMs - sentMs;
        let read: ReturnType<typeof readDatagram>;
        try {
          read = readDatagram(bytes, query);
        } catch (thrown) {
          return reject(thrown);
        }
        if ('message' in read) {
          const measurement = {
            clock: times?.clock ?? 'event',
            overheadMs: Math.max(0, eventMs - startMs - elapsedMs),
            lagMs: Math.max(0, eventMs - sentMs - elapsedMs),
            doubtMs: times?.doubtMs ?? 0,
          };
          return resolve({ message: read.message, elapsedMs, measurement });
        }
        ignoredCount += 1;
        lastIgnored = read.problem;
        if (!read.unreadable) {
          isAnyReadable = true;
          return;
        }
        garbage ??= read.unreadable;
        if (read.isOurs) senseless ??= read.unreadable;
        const { malformedAtMs } = controls;
        if (malformedAtMs === undefined) return;
        // Runs after the data that has arrived by then is read.
        const end = () => {
          const error = noBetter();
          if (error) reject(error);
        };
        waiting ??= setTimeout(() => void setImmediate(end), Math.max(0, malformedAtMs - eventMs));
      });
      // As a listener, not as an argument: Node calls that with an error too, where no route leads to the address.
      socket.once('connect', () => {
        const { port: localPort } = socket.address();
        controls.onAttempt?.({
          protocol: 'udp',
          isSecure: false,
          ...{ hostname: server.hostname, address: server.address, port: server.port },
          localPort: () => localPort,
        });
        times = timekeeper.packets(socket);
        times.beforeSending();
        socket.send(query.bytes);
        times.afterSending();
        sentMs = performance.now();
      });
      socket.connect(server.port, server.address);
      return () => {
        clearTimeout(waiting);
        socket.close();
      };
    },
    () =>
      noBetter() ??
      noAnswer(where, controls.timeoutMs, sentMs > 0 ? performance.now() - sentMs : 0, remark()),
  );
}

/** Reads the response in a datagram, or explains why it has none; `unreadable` if it is not a DNS message. */
function readDatagram(
  bytes: Buffer,
  { question, id }: SentQuery,
):
  | { readonly message: DnsMessage }
  | { readonly problem: string; readonly isOurs: boolean; readonly unreadable?: Error } {
  const isOurs = bytes.length >= 2 && bytes.readUInt16BE(0) === id;
  try {
    const message = decodeMessage(bytes, question.class);
    const problem = isOurs ? mismatch(message, question, id) : 'a different id';
    return problem === undefined ? { message } : { problem, isOurs };
  } catch (thrown) {
    if (!(thrown instanceof DnsDecodeError)) throw thrown;
    const unreadable = new Error(`${describe(bytes)}: ${thrown.message}`);
    return { problem: isOurs ? thrown.message : 'a different id', isOurs, unreadable };
  }
}

/** Shows only the header: the rest may contain the queried data. */
const shownBytes = 12;

function describe(bytes: Buffer): string {
  const size = `${bytes.length} ${bytes.length === 1 ? 'byte' : 'bytes'}`;
  return bytes.length === 0 ? size : `${size} beginning with ${bytes.toString('hex', 0, shownBytes)}`;
}

function socketError(error: Error, { family }: DnsServer, where: string): Error {
  // Without IPv6 there is no source address, which looks like port exhaustion.
  if (errorCodeOf(error) === 'EADDRNOTAVAIL' && family === 6 && !isIpv6Enabled()) {
    return new ProbeError('network-unavailable', 'firstByte', `${error.message}: IPv6 is disabled here`);
  }
  const isAnswer = 'syscall' in error && String(error.syscall).startsWith('recv');
  return classifyError(isAnswer ? networkAnswer(error, 'firstByte', where) : error, 'firstByte', where);
}

/** The server sent something that is not a DNS message. */
export function malformed(where: string, reason: Error): ProbeError {
  const message = `the response of ${where} is not a DNS message: ${reason.message}`;
  return new ProbeError('response-malformed', 'firstByte', message);
}
