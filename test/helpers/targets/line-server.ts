import { createServer, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import type { KeyAndCertificate } from './certificates.ts';
import { listen, type Target } from './listening.ts';

/** Response of a server to a line; undefined starts TLS. */
type Answer = (match: RegExpExecArray) => string | undefined;

export interface LineScript {
  readonly greeting?: string;
  readonly answers?: readonly (readonly [question: RegExp, answer: Answer])[];
  /** Closes the connection after its greeting. */
  readonly isBrief?: boolean;
  /** Repeats its greeting endlessly. */
  readonly isEndless?: boolean;
  /** Certificate for STARTTLS. */
  readonly identity?: KeyAndCertificate;
}

/** A server of a line-based protocol, such as SMTP and Redis. */
export async function startLineServer(script: LineScript): Promise<Target> {
  const { greeting = '', answers = [], isBrief, isEndless, identity } = script;
  const secureContext = identity && createSecureContext(identity);
  const converse = (socket: Socket) => {
    let received = '';
    const onData = (bytes: Buffer) => {
      received += bytes.toString('latin1');
      for (let end = received.indexOf('\n'); end >= 0; end = received.indexOf('\n')) {
        const line = received.slice(0, end).replace(/\r$/, '');
        received = received.slice(end + 1);
        for (const [question, answer] of answers) {
          const match = question.exec(line);
          if (!match) continue;
          const said = answer(match);
          if (said !== undefined) socket.write(said);
          if (said?.startsWith('220 go ahead')) {
            socket.off('data', onData);
            const secured = new TLSSocket(socket, { isServer: true, secureContext });
            secured.on('error', () => secured.destroy());
            converse(secured);
            return;
          }
          break;
        }
      }
    };
    socket.on('data', onData);
  };
  const server = createServer((socket) => {
    const send = () => {
      while (!socket.destroyed && socket.write(greeting.repeat(100)));
      if (!socket.destroyed) socket.once('drain', send);
    };
    if (isEndless) send();
    else if (greeting !== '') socket.write(greeting);
    if (isBrief) socket.end();
    converse(socket);
  });
  return await listen(server, { scheme: 'tcp' });
}
