import { createSocket } from 'node:dgram';
import { errorCodeOf } from '../../lib/errors.ts';
import { isIpv6Enabled } from '../address.ts';
import { classifyError, networkAnswer, ProbeError } from '../connection/errors.ts';
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

/** A query as it is sent. */
export interface SentQuery {
  readonly question: DnsQuestion;
  readonly id: number;
  readonly bytes: Buffer;
}

/** An answer as it came. */
export interface TimedMessage {
  readonly message: DnsMessage;
  /**
   * From the query having left to the arrival of the answer, in milliseconds; with making the connection, if
   * any.
   */
  readonly elapsedMs: number;
  readonly measurement: ProbeMeasurement;
}

/**
 * Sends a query over UDP, once, and takes the first datagram that answers it. Each query has a socket of its
 * own: a fresh source port, which the kernel picks at random, and as the socket is connected the kernel drops
 * whatever does not come from the server's address and port. Datagrams with another id or question, and those that
 * are no DNS message, are ignored while there is time (RFC 5452 section 9.1): who cannot see the query cannot answer
 * it, nor stop us from hearing the server. When nothing better came than a message with our id that makes no sense,
 * that was the answer.
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
  let senseless: DnsDecodeError | undefined;
  const remark = () =>
    ignoredCount === 0 ? '' : `; ignored ${ignoredCount} that did not fit (the last one: ${lastIgnored})`;

  return withinLimits(
    controls,
    where,
    ({ resolve, reject }) => {
      const refusal = controls.egress.refusal(server);
      if (refusal !== undefined) throw new ProbeError('egress-denied', 'firstByte', refusal);
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
        senseless ??= read.senseless;
      });
      socket.connect(server.port, server.address, () => {
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
      return () => socket.close();
    },
    () => {
      if (!senseless) {
        return noAnswer(where, controls.timeoutMs, sentMs > 0 ? performance.now() - sentMs : 0, remark());
      }
      const waited = `nothing else came within ${Math.round(controls.timeoutMs)} ms`;
      return malformed(where, new Error(`${senseless.message}; ${waited}`));
    },
  );
}

/** The answer in a datagram, or why it holds no answer; `senseless` when it has our id and does not parse. */
function readDatagram(
  bytes: Buffer,
  { question, id }: SentQuery,
):
  | { readonly message: DnsMessage }
  | { readonly problem: string; readonly senseless?: DnsDecodeError | undefined } {
  if (bytes.length < 2 || bytes.readUInt16BE(0) !== id) return { problem: 'another id' };
  try {
    const message = decodeMessage(bytes, question.class);
    const problem = mismatch(message, question, id);
    return problem === undefined ? { message } : { problem };
  } catch (thrown) {
    if (!(thrown instanceof DnsDecodeError)) throw thrown;
    return { problem: thrown.message, senseless: thrown };
  }
}

function socketError(error: Error, { family }: DnsServer, where: string): Error {
  // Without IPv6 there is no source address, which looks like having run out of ports.
  if (errorCodeOf(error) === 'EADDRNOTAVAIL' && family === 6 && !isIpv6Enabled()) {
    return new ProbeError('network-unavailable', 'firstByte', `${error.message}: IPv6 is off here`);
  }
  const isAnswer = 'syscall' in error && String(error.syscall).startsWith('recv');
  return classifyError(isAnswer ? networkAnswer(error, 'firstByte', where) : error, 'firstByte', where);
}

/** The server sent something that is no DNS message. */
export function malformed(where: string, reason: Error): ProbeError {
  const message = `the answer of ${where} is no DNS message: ${reason.message}`;
  return new ProbeError('response-malformed', 'firstByte', message);
}
