import { createServer, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import type { StartTlsProtocol } from '../../../src/probes/connection/start-tls.ts';
import type { KeyAndCertificate } from '../targets/certificates.ts';
import { listen, type Target } from '../targets/listening.ts';

/** Response of a server to STARTTLS. */
export type StartTlsBehaviour =
  | 'consents'
  | 'refuses'
  /** Does not advertise TLS. */
  | 'conceals'
  /** A man in the middle adds plain text to the consent. */
  | 'is-injected'
  | 'talks-without-end'
  | 'hangs-up';

type Answers = readonly (readonly [question: RegExp, answer: (match: RegExpExecArray) => Buffer | string])[];

interface Script {
  readonly greeting: Buffer | string;
  readonly answers: Answers;
}

const mysqlGreeting = (abilities: number) => {
  const payload = Buffer.concat([
    Buffer.from('\x0a8.0.36\0'),
    Buffer.from([1, 0, 0, 0]),
    Buffer.from('saltsalt\0'),
    Buffer.from([abilities & 0xff, abilities >> 8, 33, 2, 0, 0, 0, 21]),
    Buffer.alloc(10),
    Buffer.from('saltsaltsalt\0mysql_native_password\0'),
  ]);
  return Buffer.concat([Buffer.from([payload.length, 0, 0, 0]), payload]);
};
const ldapResponse = (code: number) => Buffer.from([0x30, 12, 2, 1, 1, 0x78, 7, 0x0a, 1, code, 4, 0, 4, 0]);
const xmppFeatures = (features: string) =>
  `<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' id='1' from='localhost' version='1.0'><stream:features>${features}</stream:features>`;
const xmppTls = 'urn:ietf:params:xml:ns:xmpp-tls';

/** The server's side of each protocol, as short as possible. */
function scriptOf(protocol: StartTlsProtocol, behaviour: StartTlsBehaviour): Script {
  const refuses = behaviour === 'refuses';
  const conceals = behaviour === 'conceals';
  switch (protocol) {
    case 'smtp':
      return {
        greeting: '220-mail.example\r\n220 ESMTP\r\n',
        answers: [
          [/EHLO [^\r]*\r\n/, () => `250-mail.example\r\n${conceals ? '' : '250-STARTTLS\r\n'}250 SIZE\r\n`],
          [/STARTTLS\r\n/, () => (refuses ? '454 not now\r\n' : '220 go ahead\r\n')],
        ],
      };
    case 'imap':
      return {
        // Untagged responses may arrive at any time, for example to announce maintenance.
        greeting: '* OK ready\r\n* OK [ALERT] maintenance tonight\r\n',
        answers: [
          [
            /(\S+) CAPABILITY\r\n/,
            ([, tag]) => `* CAPABILITY IMAP4rev1${conceals ? '' : ' STARTTLS'}\r\n${tag} OK done\r\n`,
          ],
          [/(\S+) STARTTLS\r\n/, ([, tag]) => `${tag} ${refuses ? 'NO' : 'OK'} well\r\n`],
        ],
      };
    case 'pop3':
      return {
        greeting: '+OK ready\r\n',
        answers: [[/STLS\r\n/, () => (refuses || conceals ? '-ERR no\r\n' : '+OK begin\r\n')]],
      };
    case 'ldap':
      return {
        greeting: '',
        answers: [[/1\.3\.6\.1\.4\.1\.1466\.20037/, () => ldapResponse(refuses || conceals ? 2 : 0)]],
      };
    case 'postgres':
      return {
        greeting: '',
        answers: [[/^[\s\S]{7}\//, () => (refuses || conceals ? 'N' : 'S')]],
      };
    case 'mysql':
      return {
        greeting: refuses
          ? Buffer.from('\x16\0\0\0\xff\x69\x04Host is not allowed', 'latin1')
          : mysqlGreeting(conceals ? 0x8200 : 0x8a00),
        answers: [[/^[\s\S]{36}/, () => '']],
      };
    case 'xmpp':
      return {
        greeting: '',
        answers: [
          [/<stream:stream [^>]*>/, () => xmppFeatures(conceals ? '' : `<starttls xmlns='${xmppTls}'/>`)],
          [/<starttls [^>]*>/, () => `<${refuses ? 'failure' : 'proceed'} xmlns='${xmppTls}'/>`],
        ],
      };
  }
}

/** Starts a server that handles STARTTLS of its protocol with the given behaviour. */
export async function startStartTlsTarget(
  protocol: StartTlsProtocol,
  identity: KeyAndCertificate,
  behaviour: StartTlsBehaviour = 'consents',
): Promise<Target> {
  const secureContext = createSecureContext(identity);
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    if (behaviour === 'talks-without-end') flood(socket);
    else converse(socket, scriptOf(protocol, behaviour), { behaviour, secure: () => secure(socket) });
  });
  const secure = (socket: Socket) => {
    const secured = new TLSSocket(socket, { isServer: true, secureContext });
    secured.on('error', () => secured.destroy());
    secured.resume();
  };
  return await listen(server, { scheme: protocol });
}

function converse(
  socket: Socket,
  { greeting, answers }: Script,
  { behaviour, secure }: { readonly behaviour: StartTlsBehaviour; readonly secure: () => void },
): void {
  if (greeting.length > 0) socket.write(greeting);
  let received = '';
  let next = 0;
  const onData = (chunk: Buffer) => {
    received += chunk.toString('latin1');
    const [question, answer] = answers[next] ?? [];
    const match = question?.exec(received);
    if (!match || !answer) return;
    next += 1;
    const isLast = next === answers.length;
    if (isLast && behaviour === 'hangs-up') {
      socket.end();
      return;
    }
    const said = Buffer.from(answer(match));
    const rest = Buffer.from(received.slice(match.index + match[0].length), 'latin1');
    received = '';
    if (!isLast || behaviour === 'refuses' || behaviour === 'conceals') {
      socket.write(said);
      return;
    }
    socket.off('data', onData);
    socket.pause();
    if (rest.length > 0) socket.unshift(rest);
    const injected = Buffer.from('injected in plain text\r\n');
    const spoken = behaviour === 'is-injected' ? Buffer.concat([said, injected]) : said;
    if (spoken.length > 0) socket.write(spoken);
    secure();
  };
  socket.on('data', onData);
}

/** Endlessly sends lines that every protocol reads as the beginning of a multi-line response. */
function flood(socket: Socket): void {
  const chunk = Buffer.from('220-and\r\n'.repeat(1000));
  const write = () => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', write);
  socket.resume();
  write();
}
