import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

/** A request to a receiver. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** A real HTTP server that receives alerts. Responds with 200 unless the test says otherwise. */
export interface HttpReceiver extends AsyncDisposable {
  readonly url: string;
  readonly received: (ReceivedRequest & { readonly bytes: Buffer })[];
  /** Sets the statuses of the next responses, in order; 0 sends no response. */
  answerNext(...statuses: number[]): void;
  /** Sets the bodies of the next responses. */
  answerBodies(...bodies: string[]): void;
  headers: Record<string, string>;
  body: string;
  close(): Promise<void>;
}

export async function startHttpReceiver(): Promise<HttpReceiver> {
  const received: HttpReceiver['received'] = [];
  const statuses: number[] = [];
  const bodies: string[] = [];
  const receiver: Pick<HttpReceiver, 'headers' | 'body'> = { headers: {}, body: 'ok' };
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      const bytes = Buffer.concat(chunks);
      received.push({ method, path, headers, body: bytes.toString('utf8'), bytes });
      const status = statuses.shift() ?? 200;
      if (status !== 0) response.writeHead(status, receiver.headers).end(bodies.shift() ?? receiver.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  return Object.assign(receiver, {
    url: `http://127.0.0.1:${port}`,
    received,
    answerNext: (...next: number[]) => void statuses.push(...next),
    answerBodies: (...next: string[]) => void bodies.push(...next),
    close,
    [Symbol.asyncDispose]: close,
  });
}

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly source: string;
}

/** A real SMTP server. Refuses unknown mailboxes (see `onRcptTo`) with 550, and all others with 451 while `isBusy`. */
export interface MailReceiver extends AsyncDisposable {
  readonly url: string;
  readonly received: ReceivedMail[];
  isBusy: boolean;
}

export async function startMailReceiver(): Promise<MailReceiver> {
  const received: ReceivedMail[] = [];
  const state = { isBusy: false };
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onRcptTo: ({ address }, _session, done) => {
      const code = address.startsWith('nobody@') ? 550 : state.isBusy ? 451 : 0;
      done(code === 0 ? null : Object.assign(new Error('not now'), { responseCode: code }));
    },
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        received.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          source: Buffer.concat(chunks).toString('utf8'),
        });
        done();
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
  return Object.assign(state, {
    url: `smtp://127.0.0.1:${port}`,
    received,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  });
}
