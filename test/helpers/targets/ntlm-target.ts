import { createHash, createHmac, X509Certificate } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { KeyAndCertificate } from './certificates.ts';
import { listen, type Target } from './listening.ts';

/** Settings of a server that logs in connections by NTLMv2, as MS-NLMP section 3.2.5.1.2 has it. */
export interface NtlmTargetOptions {
  readonly username: string;
  readonly domain: string;
  /** The MD4 hash of the password, in hexadecimal. */
  readonly passwordHash: string;
  /** With it the server speaks TLS, and takes only responses that are bound to its certificate. */
  readonly identity?: KeyAndCertificate;
  /** Whether the challenge has a time: the client then has to send an integrity code. */
  readonly isTimed?: boolean;
  /** The response, counted from one, that ends its connection. */
  readonly closesAt?: number;
}

export interface NtlmTarget extends Target {
  /** Why the last response was refused; empty if it was taken. */
  readonly lastProblem: () => string;
  /** Requests of each connection, in order. */
  readonly requests: readonly { readonly port: number | undefined; readonly message: number }[];
}

const nonce = Buffer.from('0123456789abcdef', 'hex');

export async function startNtlmTarget(options: NtlmTargetOptions): Promise<NtlmTarget> {
  const requests: { port: number | undefined; message: number }[] = [];
  const states = new WeakMap<Socket, { negotiate: Buffer; challenge: Buffer }>();
  let problem = '';
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    request.resume();
    const state = states.get(request.socket) ?? { negotiate: Buffer.alloc(0), challenge: Buffer.alloc(0) };
    states.set(request.socket, state);
    const token = /^NTLM (\S+)$/.exec(request.headers.authorization ?? '')?.[1];
    const message = Buffer.from(token ?? '', 'base64');
    const number = message.length > 12 ? message.readUInt32LE(8) : 0;
    requests.push({ port: request.socket.remotePort, message: number });
    if (requests.length === options.closesAt) response.setHeader('connection', 'close');
    if (number === 3) {
      problem = problemOf(message, state, options);
      if (problem === '') {
        response.end('in');
        return;
      }
    }
    let header = 'NTLM';
    if (number === 1) {
      state.negotiate = message;
      state.challenge = challengeMessage(options.isTimed ?? true);
      header = `NTLM ${state.challenge.toString('base64')}`;
    }
    response.writeHead(401, { 'www-authenticate': header });
    response.end('log in');
  };
  const { identity } = options;
  const server = identity ? createHttpsServer({ ...identity }, answer) : createServer(answer);
  const target = await listen(server, { scheme: identity ? 'https' : 'http' });
  return { ...target, requests, lastProblem: () => problem };
}

function challengeMessage(isTimed: boolean): Buffer {
  const info = Buffer.concat([
    pair(2, Buffer.from('INTRA', 'utf16le')),
    pair(1, Buffer.from('WEB', 'utf16le')),
    ...(isTimed ? [pair(7, Buffer.from('00a0c8b4e6bbd901', 'hex'))] : []),
    pair(0, Buffer.alloc(0)),
  ]);
  const head = Buffer.alloc(48);
  head.write('NTLMSSP\0', 'latin1');
  head.writeUInt32LE(2, 8);
  head.writeUInt32LE(48, 16);
  head.writeUInt32LE(0xa0888205, 20);
  nonce.copy(head, 24);
  head.writeUInt16LE(info.length, 40);
  head.writeUInt16LE(info.length, 42);
  head.writeUInt32LE(48, 44);
  return Buffer.concat([head, info]);
}

function problemOf(
  message: Buffer,
  { negotiate, challenge }: { readonly negotiate: Buffer; readonly challenge: Buffer },
  { username, domain, passwordHash, identity, isTimed = true }: NtlmTargetOptions,
): string {
  const field = (at: number) => {
    const offset = message.readUInt32LE(at + 4);
    return message.subarray(offset, offset + message.readUInt16LE(at));
  };
  const [response, shownDomain, shownUser] = [field(20), field(28), field(36)];
  if (shownUser.toString('utf16le') !== username) return `the user is ${shownUser.toString('utf16le')}`;
  if (shownDomain.toString('utf16le') !== domain) return `the domain is ${shownDomain.toString('utf16le')}`;
  const name = Buffer.from(username.toUpperCase() + domain, 'utf16le');
  const key = createHmac('md5', Buffer.from(passwordHash, 'hex')).update(name).digest();
  const proof = createHmac('md5', key).update(nonce).update(response.subarray(16)).digest();
  if (!proof.equals(response.subarray(0, 16))) return 'the proof is wrong';
  const info = pairsIn(response.subarray(44));
  const hasCode = ((info.get(6)?.readUInt32LE() ?? 0) & 2) !== 0;
  if (hasCode !== isTimed) return 'the integrity code is missing, or one too many';
  if (isTimed) {
    const session = createHmac('md5', key).update(proof).digest();
    const zeroed = Buffer.from(message);
    zeroed.fill(0, 72, 88);
    const code = createHmac('md5', session).update(negotiate).update(challenge).update(zeroed).digest();
    if (!code.equals(message.subarray(72, 88))) return 'the integrity code is wrong';
  }
  if (!info.get(9)?.toString('utf16le').startsWith('HTTP/')) return 'the service name is missing';
  const binding = info.get(10) ?? Buffer.alloc(0);
  const expected = identity ? bindingOf(identity.cert) : Buffer.alloc(16);
  return binding.equals(expected) ? '' : `the channel binding is ${binding.toString('hex')}`;
}

function bindingOf(pem: string): Buffer {
  const hash = createHash('sha256').update(new X509Certificate(pem).raw).digest();
  const data = Buffer.concat([Buffer.from('tls-server-end-point:'), hash]);
  const head = Buffer.alloc(20);
  head.writeUInt32LE(data.length, 16);
  return createHash('md5').update(head).update(data).digest();
}

function pair(id: number, value: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt16LE(id);
  head.writeUInt16LE(value.length, 2);
  return Buffer.concat([head, value]);
}

function pairsIn(bytes: Buffer): ReadonlyMap<number, Buffer> {
  const pairs = new Map<number, Buffer>();
  for (let at = 0; at + 4 <= bytes.length && bytes.readUInt16LE(at) !== 0; ) {
    const end = at + 4 + bytes.readUInt16LE(at + 2);
    pairs.set(bytes.readUInt16LE(at), bytes.subarray(at + 4, end));
    at = end;
  }
  return pairs;
}
