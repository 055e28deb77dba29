import { hostAndPort } from '../address.ts';
import { ProbeError } from '../connection/errors.ts';
import { probeHttp } from '../http/probe.ts';
import type { QueryControls } from './limits.ts';
import { type DnsServer, serverText } from './server.ts';
import { knownAddress } from './stream.ts';
import { malformed, type SentQuery, type TimedMessage } from './udp.ts';
import { DnsDecodeError, decodeMessage, mismatch } from './wire/message.ts';

const mediaType = 'application/dns-message';
const maxMessageBytes = 65_535;

/**
 * Sends a query over HTTPS (RFC 8484), as a POST on a fresh connection, with HTTP/2 if the server offers it. The time
 * covers the whole request, including the connection.
 *
 * @throws ProbeError
 */
export async function queryHttps(
  query: SentQuery,
  server: DnsServer,
  controls: QueryControls,
): Promise<TimedMessage> {
  const where = serverText(server);
  const url = new URL(server.path ?? '/dns-query', `https://${hostAndPort(server.hostname, server.port)}`);
  const { error, head, body, elapsedMs, measurement } = await probeHttp(
    {
      url,
      method: 'POST',
      headers: ['Content-Type', mediaType, 'Accept', mediaType],
      body: query.bytes,
      followRedirects: false,
      isCertificateChecked: true,
      family: server.family,
      proxy: undefined,
      maxBodyBytes: maxMessageBytes,
    },
    { ...controls, resolver: knownAddress(server) },
  );
  if (error) {
    error.waitedMs = measurement.waitedMs;
    throw error;
  }
  if (head?.status !== 200) {
    const message = `${where} answered with the HTTP status ${head?.status}`;
    throw new ProbeError('response-malformed', 'firstByte', message);
  }
  const contentType = String(head.headers['content-type'] ?? '');
  if (contentType.split(';', 1)[0]?.trim().toLowerCase() !== mediaType) {
    throw malformed(where, new Error(`it has the content type ${contentType || '(none)'}`));
  }
  try {
    const message = decodeMessage(body.bytes, query.question.class);
    const problem = mismatch(message, query.question, query.id);
    if (problem !== undefined) throw malformed(where, new Error(problem));
    return { message, elapsedMs, measurement };
  } catch (thrown) {
    throw thrown instanceof DnsDecodeError ? malformed(where, thrown) : thrown;
  }
}
