import { createServer, getCACertificates, setDefaultCACertificates, type TlsOptions } from 'node:tls';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { certificateFlaws, createFlawedAuthority } from '../../helpers/targets/broken-certificates.ts';
import { createAuthority, type TestAuthority } from '../../helpers/targets/certificates.ts';
import { probe } from '../../helpers/targets/http-request.ts';
import { listen, type Target } from '../../helpers/targets/listening.ts';

const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok';
/** Servers may use weak certificates that their clients refuse. */
const anyStrength = 'DEFAULT@SECLEVEL=0';

let flawed: Awaited<ReturnType<typeof createFlawedAuthority>>;
let authority: TestAuthority;
const targets: Target[] = [];

beforeAll(async () => {
  flawed = await createFlawedAuthority();
  authority = await createAuthority();
  setDefaultCACertificates([...getCACertificates(), flawed.cert, authority.cert]);
});
afterEach(async () => {
  await Promise.all(targets.splice(0).map((target) => target.close()));
});

async function startTls(options: TlsOptions): Promise<string> {
  const server = createServer({ ciphers: anyStrength, ...options }, (socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', () => socket.end(answer));
  });
  server.on('tlsClientError', () => undefined);
  const target = await listen(server, { scheme: 'https' });
  targets.push(target);
  return target.url.replace('127.0.0.1', 'localhost');
}

describe('a certificate', () => {
  it('of a valid chain is accepted', async () => {
    expect((await probe(await startTls(await flawed.issue()))).error).toBeUndefined();
  });

  it.each(Object.keys(certificateFlaws))('with %s is the target’s failure', async (name) => {
    const url = await startTls(await flawed.issue(certificateFlaws[name]));
    const { error } = await probe(url);
    expect(error).toMatchObject({ kind: 'certificate-invalid', phase: 'tls' });
    expect((await probe(url, { isCertificateChecked: false })).error).toBeUndefined();
  });
});

describe('the name in a certificate', () => {
  const loopback = { resolve: async () => [{ address: '127.0.0.1', family: 4 as const }] };

  it.each([
    [['*.example.test'], 'foobar.example.test', true],
    [['other.test', '*.example.test', 'foo*.test'], 'foobar.example.test', true],
    [['foo*.example.test', 'foobar.example.test'], 'foobar.example.test', true],
    [['foobar.example.test'], 'FooBar.example.test.', true],
    [['foo*.example.test'], 'foobar.example.test', false],
    [['*bar.example.test'], 'foobar.example.test', false],
    [['f*r.example.test'], 'foobar.example.test', false],
    [['*.example.test'], 'a.b.example.test', false],
    [['*.*.test'], 'foobar.example.test', false],
    // The common name is the first of these hosts, or this one.
    [[], 'common.example.test', false],
    [['127.0.0.1'], 'common.example.test', false],
  ])('%j is for %s: %s', async (hosts, name, isTaken) => {
    const identity = await authority.issue({
      hosts,
      ...(hosts.length < 2 && { commonName: 'common.example.test' }),
    });
    const { port } = new URL(await startTls(identity));
    const { error } = await probe(`https://${name}:${port}/`, { resolver: loopback });
    expect(error?.kind).toBe(isTaken ? undefined : 'certificate-invalid');
    if (!isTaken) expect(error?.code).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
  });
});
