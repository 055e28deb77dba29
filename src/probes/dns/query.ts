import { randomInt } from 'node:crypto';
import { ProbeError } from '../connection/errors.ts';
import { joinedMeasurement, type ProbeMeasurement } from '../kernel-thread/socket-watch.ts';
import { queryHttps } from './https.ts';
import type { QueryControls } from './limits.ts';
import type { DnsServer } from './server.ts';
import { queryStream } from './stream.ts';
import { queryUdp, type TimedMessage } from './udp.ts';
import { type DnsMessage, type DnsQuestion, encodeQuery } from './wire/message.ts';

export type DnsProtocol = 'UDP' | 'TCP' | 'DOT' | 'DOH';

/** A server's response, whatever its response code. */
export interface DnsReply {
  readonly message: DnsMessage;
  /** Milliseconds from sending the query to its response; over TCP, TLS and HTTPS including the connection. */
  readonly elapsedMs: number;
  readonly measurement: ProbeMeasurement;
  /** The UDP response was truncated and the query repeated over TCP; the time covers both. */
  readonly isRetriedOverTcp: boolean;
}

/**
 * Sends one query to one server. A truncated UDP response is followed by a query over TCP (RFC 7766 section 5); if a
 * server refuses EDNS, the query is repeated without it (RFC 6891 section 7); if a connection breaks before the
 * response is complete, it is made again once, because servers close connections at any time (RFC 7766 section 6.2.4).
 * Nothing else is repeated: a lost datagram is a result.
 *
 * @param options.isEdns false omits EDNS, which limits UDP responses to 512 bytes.
 * @throws ProbeError if there is no usable response.
 */
export async function queryDns(
  question: DnsQuestion,
  server: DnsServer,
  options: { readonly protocol: DnsProtocol; readonly isEdns?: boolean },
  controls: QueryControls,
): Promise<DnsReply> {
  const { protocol, isEdns = true } = options;
  const startMs = performance.now();
  const deadlineMs = startMs + controls.timeoutMs;
  const measurements: ProbeMeasurement[] = [];
  let elapsedMs = 0;
  const ask = async (over: DnsProtocol, withEdns: boolean) => {
    const left = () => ({ ...controls, timeoutMs: deadlineMs - performance.now() });
    const beganMs = performance.now();
    let reply: TimedMessage;
    try {
      reply = await send(question, server, over, withEdns, left());
    } catch (thrown) {
      if (!isBrokenOff(thrown)) throw thrown;
      // The time of the failed attempt counts, by the clock of this process.
      const lostMs = performance.now() - beganMs;
      elapsedMs += lostMs;
      measurements.push({ clock: 'event', overheadMs: 0, lagMs: 0 });
      reply = await send(question, server, over, withEdns, left()).catch(() => {
        throw thrown;
      });
    }
    elapsedMs += reply.elapsedMs;
    measurements.push(reply.measurement);
    return reply;
  };

  let over = protocol;
  let withEdns = isEdns;
  let reply = await ask(over, withEdns);
  if (withEdns && refusesEdns(reply.message)) {
    withEdns = false;
    reply = await ask(over, withEdns);
  }
  if (over === 'UDP' && reply.message.flags.TC) {
    over = 'TCP';
    reply = await ask(over, withEdns);
  }
  const measurement = joinedMeasurement(measurements, performance.now() - startMs - elapsedMs);
  return { message: reply.message, elapsedMs, measurement, isRetriedOverTcp: over !== protocol };
}

/** The server accepted the connection and closed it instead of responding. */
function isBrokenOff(thrown: unknown): boolean {
  return thrown instanceof ProbeError && thrown.kind === 'connection-reset' && thrown.phase === 'firstByte';
}

function refusesEdns({ responseCode, hasEdns }: DnsMessage): boolean {
  return (
    responseCode === 'BADVERS' || (!hasEdns && (responseCode === 'FORMERR' || responseCode === 'NOTIMP'))
  );
}

function send(
  question: DnsQuestion,
  server: DnsServer,
  protocol: DnsProtocol,
  isEdns: boolean,
  controls: QueryControls,
): Promise<TimedMessage> {
  // Over HTTPS the id is 0, for HTTP caches (RFC 8484 section 4.1).
  const id = protocol === 'DOH' ? 0 : randomInt(0x1_0000);
  const query = { question, id, bytes: encodeQuery(question, id, isEdns) };
  switch (protocol) {
    case 'UDP':
      return queryUdp(query, server, controls);
    case 'TCP':
      return queryStream(query, server, false, controls);
    case 'DOT':
      return queryStream(query, server, true, controls);
    case 'DOH':
      return queryHttps(query, server, controls);
  }
}
