import { connect, createServer, type Socket } from 'node:net';
import { listen, type Target } from './listening.ts';

export interface SocksTarget extends Target {
  /** Requests it received, as written: `name localhost:80`, `ipv4 127.0.0.1:80`. */
  readonly requests: readonly string[];
}

export interface SocksOptions {
  /** Credentials it requires. */
  readonly login?: { readonly user: string; readonly password: string };
  /** Addresses of names that only it can resolve. */
  readonly names?: Readonly<Record<string, string>>;
  /** Sends this reply to the request instead of connecting. */
  readonly reply?: number;
  /** Misbehaviour instead of the reply to a greeting, or to a request. */
  readonly onGreeting?: Misbehaviour;
  readonly onRequest?: Misbehaviour;
}

/** A buffer is sent, and nothing else. */
type Misbehaviour = 'waits' | 'closes' | Buffer;

/** Starts a SOCKS5 proxy (RFC 1928, RFC 1929). */
export async function startSocksTarget(options: SocksOptions = {}): Promise<SocksTarget> {
  const requests: string[] = [];
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => socket.destroy());
    void serve(socket, options, requests).catch(() => socket.destroy());
  });
  const target = await listen(server, { scheme: 'tcp' });
  const { user, password } = options.login ?? {};
  const login =
    user === undefined ? '' : `${encodeURIComponent(user)}:${encodeURIComponent(password ?? '')}@`;
  return { ...target, url: target.url.replace('tcp://', `socks5://${login}`), requests };
}

async function serve(socket: Socket, options: SocksOptions, requests: string[]): Promise<void> {
  const read = reader(socket);
  const [, methodCount = 0] = await read(2);
  const methods = await read(methodCount);
  if (options.onGreeting) return misbehave(socket, options.onGreeting);
  const method = options.login ? 2 : 0;
  if (!methods.includes(method)) return void socket.end(Buffer.from([5, 0xff]));
  socket.write(Buffer.from([5, method]));
  if (options.login) {
    await read(1);
    const user = (await read((await read(1))[0] ?? 0)).toString();
    const password = (await read((await read(1))[0] ?? 0)).toString();
    const isRight = user === options.login.user && password === options.login.password;
    socket.write(Buffer.from([1, isRight ? 0 : 1]));
    if (!isRight) return void socket.end();
  }
  const { kind, hostname, port } = await requested(read);
  requests.push(`${kind} ${hostname}:${port}`);
  if (options.onRequest) return misbehave(socket, options.onRequest);
  if (options.reply !== undefined) return void socket.end(answer(options.reply));
  const onward = connect({ host: options.names?.[hostname] ?? hostname, port });
  onward.once('error', () => socket.end(answer(5)));
  onward.once('connect', () => {
    socket.write(answer(0));
    const early = read.rest();
    if (early.length > 0) onward.write(early);
    onward.pipe(socket).pipe(onward);
  });
  socket.once('close', () => onward.destroy());
}

async function requested(read: Reader) {
  const [, , , type] = await read(4);
  const kind = type === 1 ? 'ipv4' : type === 4 ? 'ipv6' : 'name';
  const bytes = await read(kind === 'ipv4' ? 4 : kind === 'ipv6' ? 16 : ((await read(1))[0] ?? 0));
  const groups = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  const written = {
    ipv4: () => bytes.join('.'),
    ipv6: () => (groups.match(/.{4}/g) ?? []).join(':'),
    name: () => bytes.toString(),
  };
  return { kind, hostname: written[kind](), port: (await read(2)).readUInt16BE(0) };
}

/** Its bound address is a name, so the client has to read every length. */
function answer(reply: number): Buffer {
  return Buffer.concat([Buffer.from([5, reply, 0, 3, 4]), Buffer.from('here'), Buffer.from([0, 80])]);
}

function misbehave(socket: Socket, behaviour: Misbehaviour): void {
  if (behaviour === 'closes') socket.destroy();
  else if (behaviour !== 'waits') socket.write(behaviour);
}

interface Reader {
  (count: number): Promise<Buffer>;
  /** The received bytes that were not read; the socket flows by itself from then on. */
  rest(): Buffer;
}

function reader(socket: Socket): Reader {
  const read = async (count: number): Promise<Buffer> => {
    if (count === 0) return Buffer.alloc(0);
    for (;;) {
      const part: Buffer | null = socket.read(count);
      if (part) return part;
      if (socket.readableEnded || socket.destroyed) throw new Error('the client is gone');
      const { promise, resolve } = Promise.withResolvers<void>();
      const done = () => resolve();
      socket.once('readable', done).once('close', done);
      await promise;
      socket.off('readable', done).off('close', done);
    }
  };
  return Object.assign(read, { rest: (): Buffer => socket.read() ?? Buffer.alloc(0) });
}
