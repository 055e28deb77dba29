import { createServer, getCACertificates, setDefaultCACertificates, type TlsOptions } from 'node:tls';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createFlawedAuthority } from '../../helpers/targets/broken-certificates.ts';
import { probe } from '../../helpers/targets/http-request.ts';
import { listen, type Target } from '../../helpers/targets/listening.ts';

const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok';
let flawed: Awaited<ReturnType<typeof createFlawedAuthority>>;
const targets: Target[] = [];

beforeAll(async () => {
  flawed = await createFlawedAuthority();
  setDefaultCACertificates([...getCACertificates(), flawed.issuer]);
});
afterEach(async () => {
  await Promise.all(targets.splice(0).map((target) => target.close()));
});

async function startTls(options: TlsOptions): Promise<string> {
  const server = createServer(options, (socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', () => socket.end(answer));
  });
  server.on('tlsClientError', () => undefined);
  const target = await listen(server, { scheme: 'https' });
  targets.push(target);
  return target.url.replace('127.0.0.1', 'localhost');
}

describe('an issuing authority that is trusted without its root', () => {
  it.each(['whole', 'its own certificate alone'])('is enough for a server that sends %s', async (sent) => {
    const identity = await flawed.issue();
    const [own = ''] = identity.cert.split(/(?<=-----END CERTIFICATE-----)/);
    const url = await startTls(sent === 'whole' ? identity : { ...identity, cert: own });
    expect((await probe(url)).error).toBeUndefined();
  });

  it('does not cover others that the root signed', async () => {
    const url = await startTls(await flawed.issue({ intermediate: {} }));
    expect((await probe(url)).error).toMatchObject({ kind: 'certificate-invalid' });
  });
});
