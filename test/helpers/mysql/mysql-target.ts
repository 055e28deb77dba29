import { constants, createHash, generateKeyPairSync, privateDecrypt } from 'node:crypto';
import { createServer, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { createSecureContext, TLSSocket } from 'node:tls';
import type { KeyAndCertificate } from '../targets/certificates.ts';
import { listen, type Target } from '../targets/listening.ts';
import { errorPacket, okPacket, packets, type Rows, resultPackets, textOf } from './packets.ts';

/** Answer of a test server to a statement: rows of one column, an error, payloads of packets, or bytes of its own. */
export type MysqlAnswer =
  | Rows
  | { readonly errorCode: number; readonly sqlState: string; readonly message: string }
  | { readonly payloads: readonly Buffer[] }
  | { readonly bytes: Buffer }
  /** Bytes, each piece in a packet of the network. */
  | { readonly pieces: Buffer; readonly sizeBytes: number }
  | 'ok'
  | 'silence'
  | 'hang-up';

export interface MysqlLogin {
  readonly user: string;
  readonly database: string;
  /** Method that the client begins with. */
  readonly method: string;
  readonly capabilities: number;
  readonly characterSet: number;
  readonly program: string;
  readonly isEncrypted: boolean;
  /** Passwords that came after the answer to the greeting; `encrypted` for one that the key of the server hides. */
  readonly secrets: string[];
}

export interface MysqlTarget extends Target {
  /** Statements in the order of their arrival. */
  readonly statements: readonly string[];
  readonly logins: readonly MysqlLogin[];
}

export interface MysqlTargetOptions {
  readonly password?: string;
  readonly version?: string;
  /** Method that the greeting names. */
  readonly greets?: string;
  /** Method of the user; if it is another one, the server asks to switch. */
  readonly method?: string;
  /** Whether the server has the hash of caching_sha2_password at hand. */
  readonly isCached?: boolean;
  readonly tls?: KeyAndCertificate;
  /** Sent in place of a greeting. */
  readonly greeting?: Buffer;
  /** Payloads sent in place of an answer to the login. */
  readonly loginAnswer?: readonly Buffer[];
  /** Sent in place of the key. */
  readonly publicKey?: string;
  readonly answer?: (statement: string) => MysqlAnswer;
}

const salt = Buffer.from('twenty random bytes!');
const tlsBit = 0x800;
const hash = (algorithm: string, ...parts: readonly (Buffer | string)[]) =>
  createHash(algorithm)
    .update(Buffer.concat(parts.map((part) => Buffer.from(part))))
    .digest();
const xor = (left: Buffer, right: Buffer) =>
  Buffer.from(left.map((byte, index) => byte ^ (right[index % right.length] ?? 0)));

/** Made once: a key takes long. */
let keys: ReturnType<typeof makeKeys> | undefined;
const makeKeys = () =>
  generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });

/** Starts a server that holds the documented dialogue of MySQL 8: greeting, TLS, login by four methods, and queries. */
export async function startMysqlTarget(options: MysqlTargetOptions = {}): Promise<MysqlTarget> {
  const statements: string[] = [];
  const logins: MysqlLogin[] = [];
  const server = createServer({ noDelay: true }, (socket) => {
    // Clients in tests break off connections on purpose.
    serve(socket, options, { statements, logins }).catch(() => socket.destroy());
  });
  const target = await listen(server, { scheme: 'mysql' });
  return { ...target, statements, logins };
}

async function serve(
  plain: Socket,
  options: MysqlTargetOptions,
  seen: { readonly statements: string[]; readonly logins: MysqlLogin[] },
): Promise<void> {
  const { tls, version = '8.4.3', answer = () => ({ rows: ['1'] }) } = options;
  let peer = packets(plain);
  const greeting =
    options.greeting ?? greetingPayload(version, options.greets ?? 'caching_sha2_password', !!tls);
  peer.send(greeting);
  let first = await peer.next();
  let isEncrypted = false;
  if (tls && first.length === 32 && (first.readUInt32LE(0) & tlsBit) !== 0) {
    const { number } = peer;
    peer.release();
    const secured = new TLSSocket(plain, { isServer: true, secureContext: createSecureContext(tls) });
    secured.on('error', () => secured.destroy());
    peer = packets(secured, number);
    isEncrypted = true;
    first = await peer.next();
  }
  const login = loginIn(first, isEncrypted);
  seen.logins.push(login);
  if (options.loginAnswer) {
    for (const payload of options.loginAnswer) peer.send(payload);
    login.secrets.push((await peer.next()).toString('latin1'));
    return;
  }
  if (!(await isLoggedIn(peer, login, answeredHash(first), options))) {
    const message = `Access denied for user '${login.user}'@'localhost' (using password: YES)`;
    peer.send(errorPacket({ errorCode: 1045, sqlState: '28000', message }));
    peer.end();
    return;
  }
  peer.send(okPacket());
  for (;;) {
    peer.restart();
    const command = await peer.next();
    if (command[0] !== 3) return peer.end();
    const statement = command.toString('utf8', 1);
    seen.statements.push(statement);
    const own = /^(SET|START|COMMIT)/.test(statement) ? 'ok' : answer(statement);
    if (own === 'silence') continue;
    if (own === 'hang-up') return peer.end();
    if (own === 'ok') peer.send(okPacket());
    else if ('bytes' in own) peer.write(own.bytes);
    else if ('pieces' in own) await inPieces(peer, own);
    else for (const payload of payloadsOf(own)) peer.send(payload);
  }
}

function payloadsOf(
  answer: Exclude<MysqlAnswer, string | { bytes: unknown } | { pieces: unknown }>,
): readonly Buffer[] {
  if ('payloads' in answer) return answer.payloads;
  return 'errorCode' in answer ? [errorPacket(answer)] : resultPackets(answer);
}

async function inPieces(
  peer: Peer,
  { pieces, sizeBytes }: { readonly pieces: Buffer; readonly sizeBytes: number },
): Promise<void> {
  for (let at = 0; at < pieces.length; at += sizeBytes) {
    peer.write(pieces.subarray(at, at + sizeBytes));
    await setImmediate();
  }
}

function greetingPayload(version: string, method: string, hasTls: boolean): Buffer {
  const capabilities = 0x00ff_f7df | (hasTls ? tlsBit : 0);
  const parts = [
    Buffer.from([10]),
    textOf(version),
    Buffer.from([7, 0, 0, 0]),
    salt.subarray(0, 8),
    Buffer.from([0, capabilities & 0xff, (capabilities >> 8) & 0xff, 255, 2, 0]),
    Buffer.from([(capabilities >> 16) & 0xff, capabilities >>> 24, 21]),
    Buffer.alloc(10),
    salt.subarray(8),
    Buffer.from([0]),
    textOf(method),
  ];
  return Buffer.concat(parts);
}

function loginIn(packet: Buffer, isEncrypted: boolean): MysqlLogin {
  const capabilities = packet.readUInt32LE(0);
  const userEnd = packet.indexOf(0, 32);
  let at = userEnd + 1 + 1 + (packet[userEnd + 1] ?? 0);
  const text = () => {
    const end = packet.indexOf(0, at);
    const found = packet.toString('utf8', at, end);
    at = end + 1;
    return found;
  };
  const database = (capabilities & 8) === 0 ? '' : text();
  const method = text();
  return {
    ...{ user: packet.toString('utf8', 32, userEnd), database, method, capabilities, isEncrypted },
    characterSet: packet[8] ?? 0,
    program: packet.toString('latin1', at + 1),
    secrets: [],
  };
}

function answeredHash(packet: Buffer): Buffer {
  const userEnd = packet.indexOf(0, 32);
  return packet.subarray(userEnd + 2, userEnd + 2 + (packet[userEnd + 1] ?? 0));
}

type Peer = ReturnType<typeof packets>;

async function isLoggedIn(
  peer: Peer,
  login: MysqlLogin,
  firstAnswer: Buffer,
  options: MysqlTargetOptions,
): Promise<boolean> {
  const { password = 'right', method = options.greets ?? 'caching_sha2_password', isCached = true } = options;
  let answer = firstAnswer;
  if (method !== login.method) {
    peer.send(Buffer.concat([Buffer.from([0xfe]), textOf(method), salt, Buffer.from([0])]));
    answer = await peer.next();
  }
  if (method === 'mysql_clear_password') return noted(login, answer) === `${password}\0`;
  if (password === '') return answer.length === 0;
  if (method === 'mysql_native_password') {
    const stored = hash('sha1', hash('sha1', password));
    return hash('sha1', xor(answer, hash('sha1', salt, stored))).equals(stored);
  }
  if (method === 'caching_sha2_password') {
    const stored = hash('sha256', hash('sha256', password));
    const isRight =
      answer.length === 32 && hash('sha256', xor(answer, hash('sha256', stored, salt))).equals(stored);
    if (isCached) {
      if (isRight) peer.send(Buffer.from([1, 3]));
      return isRight;
    }
    peer.send(Buffer.from([1, 4]));
    answer = await peer.next();
  }
  return (await wholePassword(peer, login, answer, options)) === `${password}\0`;
}

/** The password that the client sends as it is, or encrypted with the key that it asks for. */
async function wholePassword(
  peer: Peer,
  login: MysqlLogin,
  answer: Buffer,
  { publicKey }: MysqlTargetOptions,
): Promise<string> {
  if (login.isEncrypted || answer.length !== 1) return noted(login, answer);
  keys ??= makeKeys();
  peer.send(Buffer.concat([Buffer.from([1]), Buffer.from(publicKey ?? keys.publicKey)]));
  const encrypted = await peer.next();
  login.secrets.push('encrypted');
  const padding = constants.RSA_PKCS1_OAEP_PADDING;
  return xor(privateDecrypt({ key: keys.privateKey, padding, oaepHash: 'sha1' }, encrypted), salt).toString();
}

function noted(login: MysqlLogin, answer: Buffer): string {
  login.secrets.push(answer.toString());
  return answer.toString();
}
