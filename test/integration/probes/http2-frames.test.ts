import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { asHealth, runGrpcMonitor } from '../../helpers/grpc/grpc-stage.ts';
import { frame as grpcFrame } from '../../helpers/grpc/hostile-server.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import { probe } from '../../helpers/targets/http-request.ts';
import { fieldBlock, http2Frame, onHttp2Request } from '../../helpers/targets/http2-frames.ts';
import { listen, type Target } from '../../helpers/targets/listening.ts';

const endStream = 1;
const endHeaders = 4;
const settings = http2Frame(4, 0, 0);

/** RFC 7838 section 4. */
function altSvc(streamId: number, origin: string, value = 'h2=":8000"'): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(origin.length);
  return http2Frame(10, 0, streamId, Buffer.concat([length, Buffer.from(origin), Buffer.from(value)]));
}

/** Frames that a client may ignore. */
const ignored = {
  'ALTSVC on stream 0 without an origin': altSvc(0, ''),
  'ALTSVC on stream 0 with one': altSvc(0, 'https://other.test'),
  'ALTSVC on the stream without an origin': altSvc(1, ''),
  'ALTSVC on the stream with one': altSvc(1, 'https://other.test'),
  'ALTSVC without a value': altSvc(0, 'https://other.test', ''),
  'ALTSVC without anything': http2Frame(10, 0, 0),
  'ALTSVC that ends within its length': http2Frame(10, 0, 0, Buffer.alloc(1)),
  'ALTSVC that ends within its origin': http2Frame(10, 0, 0, Buffer.from([0, 9, 1])),
  'ALTSVC in binary': altSvc(0, '\xff\xfe', '\0'),
  'ALTSVC of 16 KiB': altSvc(0, '', 'x'.repeat(16_382)),
  'ORIGIN that ends within its length': http2Frame(12, 0, 0, Buffer.from([0, 9, 1])),
  'ORIGIN on the stream': http2Frame(12, 0, 1, Buffer.from([0, 0])),
  PRIORITY_UPDATE: http2Frame(16, 0, 0, Buffer.from([0, 0, 0, 1, 0x75])),
  PRIORITY: http2Frame(2, 0, 3, Buffer.from([0, 0, 0, 0, 5])),
  'a type nobody knows': http2Frame(0xee, 0xff, 0, Buffer.alloc(40)),
  'a type nobody knows on a stream that was never opened': http2Frame(0xee, 0xff, 77, Buffer.alloc(40)),
  'a setting nobody knows': http2Frame(4, 0, 0, Buffer.from([0x7a, 0x7a, 0, 0, 0, 1])),
};

const answers = {
  http: [
    http2Frame(1, endHeaders, 1, fieldBlock({ ':status': '200' })),
    http2Frame(0, 0, 1, Buffer.from('fi')),
    http2Frame(0, endStream, 1, Buffer.from('ne')),
  ],
  grpc: [
    http2Frame(1, endHeaders, 1, fieldBlock({ ':status': '200', 'content-type': 'application/grpc' })),
    http2Frame(0, 0, 1, grpcFrame(Buffer.from([0x08, 0x01]))),
    http2Frame(1, endHeaders | endStream, 1, fieldBlock({ 'grpc-status': '0' })),
  ],
};

let target: Target;
let grpcTarget: Target;
/** Frames that the servers send after a request. */
let pieces: readonly Buffer[] = [];
const answer = (socket: Socket) => {
  socket.setNoDelay();
  onHttp2Request(socket, () => socket.write(Buffer.concat(pieces)));
};
beforeAll(async () => {
  const identity = await (await createAuthority()).issue();
  target = await listen(createTlsServer({ ...identity, ALPNProtocols: ['h2'] }, answer), { scheme: 'https' });
  grpcTarget = await listen(
    createServer((socket) => {
      socket.write(settings);
      answer(socket);
    }),
    { scheme: 'http' },
  );
});
afterAll(() => Promise.all([target.close(), grpcTarget.close()]));

const get = () => probe(target.url, { isCertificateChecked: false, timeoutMs: 10_000 });
const ask = () => runGrpcMonitor(grpcTarget, asHealth);

describe('HTTP/2 frames that must be ignored', () => {
  it.each(Object.entries(ignored))('break nothing at any position: %s', async (_name, frame) => {
    for (const place of [0, 1, 2, 3]) {
      pieces = [settings, ...answers.http.toSpliced(place, 0, frame, frame)];
      const { error, body } = await get();
      expect(error).toBeUndefined();
      expect(body.bytes.toString()).toBe('fine');

      pieces = answers.grpc.toSpliced(place, 0, frame);
      expect(await ask()).toMatchObject({ failure: undefined });
    }
  });

  it('break nothing in pieces of one byte', async () => {
    const all = [settings, altSvc(0, ''), ...answers.http.toSpliced(1, 0, altSvc(1, 'https://other.test'))];
    const inPieces = await listen(
      createTlsServer({ ...(await (await createAuthority()).issue()), ALPNProtocols: ['h2'] }, (socket) => {
        onHttp2Request(socket, async () => {
          for (const byte of Buffer.concat(all)) {
            await new Promise<void>((resolve) => socket.write(Buffer.from([byte]), () => resolve()));
          }
        });
      }),
      { scheme: 'https' },
    );
    const { error, body } = await probe(inPieces.url, { isCertificateChecked: false, timeoutMs: 10_000 });
    expect(error).toBeUndefined();
    expect(body.bytes.toString()).toBe('fine');
    await inPieces.close();
  });
});

describe('HTTP/2 frames that break the rules', () => {
  const head = fieldBlock({ ':status': '200' });
  it.each([
    ['ALTSVC within the headers', [http2Frame(1, 0, 1, head), altSvc(0, ''), http2Frame(9, endHeaders, 1)]],
    ['ALTSVC of more than 16 KiB', [altSvc(0, '', 'x'.repeat(16_383))]],
    ['DATA on stream 0', [http2Frame(0, 0, 0, Buffer.from('x'))]],
    ['PING of 7 bytes', [http2Frame(6, 0, 0, Buffer.alloc(7))]],
  ])('are malformed: %s', async (_name, frames) => {
    pieces = [settings, ...frames];
    expect((await get()).error).toMatchObject({
      kind: expect.stringMatching(/^(response-malformed|connection-reset)$/),
    });
  });

  it('are malformed in place of SETTINGS', async () => {
    pieces = [altSvc(0, ''), settings, ...answers.http];
    expect((await get()).error).toMatchObject({ kind: 'response-malformed' });
  });
});
