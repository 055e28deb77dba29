import { constants, createSecureServer, type ServerHttp2Stream } from 'node:http2';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { beforeAll, describe, expect, it } from 'vitest';
import { createAuthority, type KeyAndCertificate } from '../../helpers/targets/certificates.ts';
import { probe } from '../../helpers/targets/http-request.ts';
import { listen } from '../../helpers/targets/listening.ts';

let identity: KeyAndCertificate;
beforeAll(async () => {
  identity = await (await createAuthority()).issue();
});

function startHttp2(answer: (stream: ServerHttp2Stream) => void) {
  const server = createSecureServer({ ...identity, maxSendHeaderBlockLength: 10_000_000 });
  server.on('stream', (stream) => {
    stream.on('error', () => stream.destroy());
    answer(stream);
  });
  return listen(server as unknown as Server, { scheme: 'https' });
}

function frame(type: number, flags: number, streamId: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

/** Half a response over HTTP/2, then RST_STREAM: Node's own server would end the stream properly first. */
function startLettingGo(code: number) {
  const resetCode = Buffer.alloc(4);
  resetCode.writeUInt32BE(code);
  const endHeaders = 4;
  const statusOk = Buffer.from([0x88]);
  const answer = [
    frame(4, 0, 0, Buffer.alloc(0)),
    frame(1, endHeaders, 1, statusOk),
    frame(0, 0, 1, Buffer.from('the first half')),
    frame(3, 0, 1, resetCode),
  ];
  const server = createTlsServer({ ...identity, ALPNProtocols: ['h2'] }, (socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', () => socket.write(Buffer.concat(answer)));
  });
  return listen(server, { scheme: 'https' });
}

/** A server that responds as soon as the request begins to arrive, and stops reading. */
function startEarly(answer: (socket: Socket) => void, scheme: 'http' | 'https') {
  const onConnection = (socket: Socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', () => {
      socket.pause();
      answer(socket);
    });
  };
  const server = scheme === 'http' ? createServer(onConnection) : createTlsServer(identity, onConnection);
  return listen(server, { scheme });
}

const get = (url: string) => probe(url, { isCertificateChecked: false, timeoutMs: 20_000 });
const upload = (url: string) =>
  probe(url, {
    method: 'POST',
    body: 'x'.repeat(8_000_000),
    isCertificateChecked: false,
    timeoutMs: 20_000,
  });

describe('a body over HTTP/2 that is cut off in the middle', () => {
  it.each(['NO_ERROR', 'CANCEL', 'INTERNAL_ERROR', 'REFUSED_STREAM'] as const)('with %s', async (name) => {
    await using target = await startLettingGo(constants[`NGHTTP2_${name}`]);
    const { error, body, head } = await get(target.url);
    expect(error).toMatchObject({ kind: 'connection-reset', phase: 'download' });
    expect(error?.message).toContain(`reset the stream with ${name}`);
    expect(body).toMatchObject({ isTruncated: true });
    expect(head?.status).toBe(200);
  });

  it('with a GOAWAY and the end of the connection', async () => {
    await using target = await startHttp2((stream) => {
      stream.respond({ ':status': 200 });
      stream.write('the first half', () => stream.session?.destroy(undefined, constants.NGHTTP2_NO_ERROR));
    });
    expect((await get(target.url)).error).toMatchObject({ kind: 'connection-reset', phase: 'download' });
  });

  it('is no failure if the response was complete before, although an upload was not', async () => {
    await using target = await startHttp2((stream) => {
      stream.respond({ ':status': 413 });
      stream.end('too large');
    });
    const { error, body, head } = await upload(target.url);
    expect(error).toBeUndefined();
    expect(head?.status).toBe(413);
    expect(body).toMatchObject({ bytes: Buffer.from('too large'), isTruncated: false });
  });

  it('is no failure if it ends with trailers or has no body at all', async () => {
    await using withTrailers = await startHttp2((stream) => {
      stream.respond({ ':status': 200 }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '1' }));
      stream.end('whole');
    });
    await using empty = await startHttp2((stream) => stream.respond({ ':status': 204 }, { endStream: true }));
    expect(await get(withTrailers.url)).toMatchObject({ error: undefined, body: { isTruncated: false } });
    expect(await get(empty.url)).toMatchObject({ error: undefined, head: { status: 204 } });
  });
});

describe('many headers over HTTP/2', () => {
  it('are accepted: a thousand of them, and 100 kB', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 1000 }, (_, index) => [`x-${index}`, 'v'.repeat(90)]),
    );
    await using target = await startHttp2((stream) => {
      stream.respond({ ':status': 200, ...many });
      stream.end('fine');
    });
    const { error, head, body } = await get(target.url);
    expect(error).toBeUndefined();
    expect(Object.keys(head?.headers ?? {}).length).toBeGreaterThanOrEqual(1000);
    expect(body.bytes.toString()).toBe('fine');
  });

  it('are refused if they do not end', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 1000 }, (_, index) => [`x-${index}`, 'v'.repeat(400)]),
    );
    await using target = await startHttp2((stream) => {
      stream.respond({ ':status': 200, ...many });
      stream.end('fine');
    });
    expect((await get(target.url)).error).toMatchObject({ kind: 'response-malformed', phase: 'firstByte' });
  });
});

describe.each(['http', 'https'] as const)('an upload over %s that the server does not want', (scheme) => {
  const refusal = 'HTTP/1.1 413 Too Large\r\nContent-Length: 9\r\n\r\ntoo large';

  it.each<[string, (socket: Socket) => void]>([
    ['and closes', (socket) => socket.end(refusal)],
    ['and destroys', (socket) => socket.write(refusal, () => socket.destroy())],
    [
      'without a length, closes, and resets at once',
      (socket) => socket.end('HTTP/1.1 413 Too Large\r\n\r\ntoo large', () => socket.destroy()),
    ],
    [
      'and resets a moment later',
      (socket) => socket.end(refusal, () => setTimeout(() => socket.destroy(), 50)),
    ],
  ])('gets a response: the server sends it %s', async (_name, answer) => {
    await using target = await startEarly(answer, scheme);
    const { error, head, body, phases } = await upload(target.url);
    expect(error).toBeUndefined();
    expect(head?.status).toBe(413);
    expect(body).toMatchObject({ bytes: Buffer.from('too large'), isTruncated: false });
    expect(phases?.firstByte).toBeGreaterThan(0);
  });

  it('is cut off without a response', async () => {
    await using target = await startEarly((socket) => socket.destroy(), scheme);
    expect((await upload(target.url)).error?.kind).toBe('connection-reset');
  });
});

describe('a response in another protocol', () => {
  it('is possible for a check: the handshake of a web socket', async () => {
    let received = '';
    const server = createServer((socket) => {
      socket.once('data', (bytes) => {
        received = bytes.toString();
        socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
      });
    });
    await using target = await listen(server, { scheme: 'http' });
    const { error, head, phases } = await probe(target.url, {
      headers: ['Connection', 'Upgrade', 'Upgrade', 'websocket', 'Sec-WebSocket-Version', '13'],
      timeoutMs: 20_000,
    });
    expect(error).toBeUndefined();
    expect(head).toMatchObject({ status: 101, headers: { upgrade: 'websocket' } });
    expect(phases).toBeDefined();
    expect(received).toMatch(/^connection: upgrade$/im);
    expect(received).not.toMatch(/keep-alive/);
  });
});
