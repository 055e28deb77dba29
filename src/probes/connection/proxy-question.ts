import { hostAndPort, type ResolvedAddress } from '../address.ts';
import { Connection } from './connection.ts';
import { ProbeError } from './errors.ts';
import type { ForwardProxy } from './forward-proxy.ts';
import { isTimeout } from './interruption.ts';
import type { ConnectionOptions } from './target.ts';

/** How long a proxy may take to respond to a request of its own. */
const answerMs = 3000;

/** A request to the proxy itself, and the start of a valid response. Any response shows that the proxy works. */
const questions = {
  http: {
    textFor: (authority: string) => `GET / HTTP/1.1\r\nHost: ${authority}\r\nConnection: close\r\n\r\n`,
    isAnswer: (start: string) => /^HTTP\/1\.[01] \d{3}/.test(start),
    startBytes: 'HTTP/1.1 200'.length,
    name: 'HTTP',
  },
  // A greeting without credentials; a refusal is a response, too.
  socks5: {
    textFor: () => '\x05\x01\x00',
    isAnswer: (start: string) => start.charCodeAt(0) === 5,
    startBytes: 2,
    name: 'SOCKS5',
  },
} as const;

/** Returns the error of a connection; if a proxied one got no response, it first finds out which peer is at fault. */
export async function settledError(
  error: ProbeError | undefined,
  connection: Pick<Connection, 'isTunnelPending' | 'address'>,
  proxy: ForwardProxy | undefined,
  controls: ConnectionOptions & { readonly signal: AbortSignal },
): Promise<ProbeError | undefined> {
  const { isTunnelPending, address } = connection;
  if (error?.kind !== 'proxy-failed' || !isTunnelPending || !proxy || address === null) return error;
  return await blamedError(error, { proxy, address }, controls);
}

/**
 * Determines whether the proxy or the target behind it caused an error that looks the same for both: silence, a broken
 * connection, a response that is not HTTP. If the proxy still responds to a request of its own, the target is at fault.
 *
 * @param address the address of the proxy connection.
 */
export async function blamedError(
  error: ProbeError,
  { proxy, address }: { readonly proxy: ForwardProxy; readonly address: string },
  controls: ConnectionOptions & { readonly signal: AbortSignal },
): Promise<ProbeError> {
  const { phase, code, details } = error;
  const problem = await problemOf(proxy, address, controls);
  if (problem !== undefined) {
    return new ProbeError('proxy-failed', phase, `${error.message}; ${problem}`, code, {
      cause: error,
      details,
    });
  }
  if (error.kind !== 'proxy-failed') return error;
  const kind = code === 'ETIMEDOUT' ? 'connection-timeout' : 'host-unreachable';
  const message = `${error.message}; the proxy responds, so the target does not`;
  return new ProbeError(kind, phase, message, code, { cause: error, details });
}

async function problemOf(
  proxy: ForwardProxy,
  address: string,
  { egress, signal, timekeeper }: ConnectionOptions & { readonly signal: AbortSignal },
): Promise<string | undefined> {
  const { hostname, port, isSecure } = proxy;
  const question = questions[proxy.protocol];
  const known: ResolvedAddress = { address, family: address.includes(':') ? 6 : 4 };
  const connection = new Connection({
    hostname,
    port,
    isSecure,
    family: known.family,
    isCertificateChecked: true,
    clientIdentity: undefined,
    proxy: undefined,
    alpnProtocols: ['http/1.1'],
  });
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const fail = (what: string) => resolve(`the proxy itself ${what}`);
  const timer = setTimeout(() => fail(`does not respond within ${answerMs} ms either`), answerMs);
  const onAbort = () => fail('was not tested: the run was stopped');
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted && !isTimeout(signal.reason)) onAbort();
  const resolver = { resolve: async () => [known] };
  connection.open({ egress, timekeeper, resolver }, (error, socket) => {
    if (!socket) return fail(`cannot be reached either: ${error?.message ?? 'no connection'}`);
    let received = '';
    socket.on('error', (broken: Error) => fail(`breaks the connection, too: ${broken.message}`));
    socket.on('close', () => fail('closes the connection without a response, too'));
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1', 0, question.startBytes);
      if (received.length < question.startBytes) return;
      if (question.isAnswer(received)) resolve(undefined);
      else fail(`does not respond with ${question.name} either`);
    });
    socket.write(question.textFor(hostAndPort(hostname, port)));
  });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    connection.destroy();
  }
}
