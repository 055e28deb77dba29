import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import {
  createSecureContext,
  createServer as createTlsServer,
  getCACertificates,
  setDefaultCACertificates,
  type TLSSocket,
  type TlsOptions,
} from 'node:tls';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  createAuthority,
  type KeyAndCertificate,
  type TestAuthority,
} from '../../helpers/targets/certificates.ts';
import { probe } from '../../helpers/targets/http-request.ts';
import { listen, type Target } from '../../helpers/targets/listening.ts';

const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok';

let authority: TestAuthority;
let identity: KeyAndCertificate;
const targets: Target[] = [];

beforeAll(async () => {
  authority = await createAuthority();
  setDefaultCACertificates([...getCACertificates(), authority.cert]);
  identity = await authority.issue();
});
afterEach(async () => {
  await Promise.all(targets.splice(0).map((target) => target.close()));
});

const respond = (socket: TLSSocket) => {
  socket.on('error', () => socket.destroy());
  socket.once('data', () => socket.end(answer));
};

async function started(server: Server): Promise<Target> {
  const target = await listen(server, { scheme: 'https' });
  targets.push(target);
  return target;
}

const startedTls = (options: TlsOptions, onSecure: (socket: TLSSocket) => void = respond) =>
  started(createTlsServer(options, onSecure).on('tlsClientError', () => undefined));

/** The results of a probe, with and without certificate checks. */
async function kindsOf(url: string) {
  const checked = await probe(url, { timeoutMs: 10_000 });
  const unchecked = await probe(url, { timeoutMs: 10_000, isCertificateChecked: false });
  return [checked.error?.kind, unchecked.error?.kind];
}
const good = [undefined, undefined];
const failed = ['handshake-failed', 'handshake-failed'];

describe('a TLS server', () => {
  it('that is correct is accepted', async () => {
    expect(await kindsOf((await startedTls(identity)).url)).toEqual(good);
  });

  it.each(['TLSv1', 'TLSv1.1'] as const)('that supports at most %s is refused', async (version) => {
    const old = { minVersion: version, maxVersion: version, ciphers: 'ALL@SECLEVEL=0' } as const;
    expect(await kindsOf((await startedTls({ ...identity, ...old })).url)).toEqual(failed);
  });

  it('that supports only TLS 1.2 is accepted', async () => {
    const { url } = await startedTls({ ...identity, maxVersion: 'TLSv1.2' });
    expect(await kindsOf(url)).toEqual(good);
  });

  it('that speaks none of our protocols refuses the handshake', async () => {
    const { url } = await startedTls({ ...identity, ALPNProtocols: ['imap'] });
    const { error } = await probe(url);
    expect(error).toMatchObject({ kind: 'handshake-failed', phase: 'tls' });
    expect(error?.message).toContain('application protocol');
  });

  it('with certificates by name only must be contacted by its name', async () => {
    const context = createSecureContext(identity);
    const { url } = await startedTls({ SNICallback: (_name, done) => done(null, context) });
    expect(await kindsOf(url.replace('127.0.0.1', 'localhost'))).toEqual(good);
    expect(await kindsOf(url)).toEqual(failed);
  });

  it('that renegotiates before it responds is accepted', async () => {
    const target = await startedTls({ ...identity, maxVersion: 'TLSv1.2' }, (socket) => {
      socket.on('error', () => socket.destroy());
      socket.once('data', () => {
        socket.renegotiate({ requestCert: false, rejectUnauthorized: false }, (error) => {
          if (error) socket.destroy();
          else socket.end(answer);
        });
      });
    });
    expect(await kindsOf(target.url)).toEqual(good);
  });

  it('whose certificate requires stapling, but does not staple, is accepted like by curl', async () => {
    const mustStaple = await authority.issue({ isStapleRequired: true });
    expect(await kindsOf((await startedTls(mustStaple)).url)).toEqual(good);
  });

  it('whose certificate has two thousand names is accepted, and one with ten thousand is too large', async () => {
    const names = (count: number) => [
      ...Array.from({ length: count }, (_, index) => `host-${index}.example.test`),
      '127.0.0.1',
    ];
    const large = await authority.issue({ hosts: names(2000) });
    expect(await kindsOf((await startedTls(large)).url)).toEqual(good);
    const tooLarge = await authority.issue({ hosts: names(10_000) });
    const { error } = await probe((await startedTls(tooLarge)).url, { timeoutMs: 10_000 });
    expect(error).toMatchObject({ kind: 'handshake-failed', phase: 'tls' });
  });
});

describe('a handshake', () => {
  /**
   * A proxy between a probe and a real server: passes `sizeBytes` from the server, then ends or resets the connection.
   */
  async function cutAfter(sizeBytes: number, cut: (socket: Socket) => void): Promise<Target> {
    const server = await startedTls(identity);
    return await started(
      createServer({ allowHalfOpen: true }, (socket) => {
        const behind = connect(server.port, server.host);
        behind.on('error', () => behind.destroy());
        socket.on('close', () => behind.destroy());
        socket.pipe(behind);
        void once(behind, 'data').then(([flight]: Buffer[]) => {
          if (sizeBytes === 0) return cut(socket);
          socket.write(flight?.subarray(0, sizeBytes) ?? '', () => cut(socket));
        });
      }),
    );
  }

  it.each([
    ['closed', 0],
    ['closed', 100],
    ['reset', 0],
    ['reset', 100],
  ])('that is %s after %i bytes of the server has failed, at once', async (how, sizeBytes) => {
    const cut = (socket: Socket) => (how === 'reset' ? socket.resetAndDestroy() : socket.end());
    const { url } = await cutAfter(sizeBytes, cut);
    expect(await kindsOf(url)).toEqual(failed);
  });

  it('that stops in the middle is a timeout of the connection', async () => {
    const { url } = await cutAfter(100, () => undefined);
    const { error } = await probe(url, { timeoutMs: 300 });
    expect(error).toMatchObject({ kind: 'connection-timeout', phase: 'tls' });
  });
});
