import { createServer as createTlsServer } from 'node:tls';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { Connection } from '../../../src/probes/connection/connection.ts';
import { systemResolver } from '../../../src/probes/resolver.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import { listen } from '../../helpers/targets/listening.ts';

setFlagsFromString('--expose-gc');
const collect: (options?: { type: 'minor' }) => void = runInNewContext('gc');

/** Numbers of each connection, and their size in bytes on the heap. */
const markLength = 10_000;
const markBytes = markLength * 8;
const connectionCount = 40;

const oldBytes = () =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')?.space_used_size ?? 0;

it('a closed TLS connection does not keep its run until old objects are collected', async () => {
  const authority = await createAuthority();
  const server = createTlsServer(await authority.issue(), (socket) => {
    socket.on('error', () => socket.destroy());
    socket.resume();
  });
  const target = await listen(server, { scheme: 'https' });
  const port = Number(new URL(target.url).port);
  const connectOnce = async () => {
    const connection = new Connection({
      ...{ hostname: '127.0.0.1', port, isSecure: true, family: 4 as const, isCertificateChecked: false },
      ...{ clientIdentity: undefined, proxy: undefined, alpnProtocols: [] },
      ...{ mark: Array.from({ length: markLength }, (_, index) => index + 0.5) },
    });
    const { promise, resolve } = Promise.withResolvers<Error | null>();
    const egress = { refusal: () => undefined };
    connection.open({ resolver: systemResolver, egress }, resolve);
    const error = await promise;
    connection.destroy();
    return { error, certificate: connection.certificate };
  };
  const { error, certificate } = await connectOnce();
  expect(error).toBeNull();
  expect(certificate?.protocol).toBe('TLSv1.3');
  collect();
  const before = oldBytes();
  for (let count = 0; count < connectionCount; count += 1) {
    await connectOnce();
    // The sockets close in the next turn.
    await new Promise((resolve) => setImmediate(resolve));
    // Twice: what is still there then has become old.
    if (count % 10 === 9) for (let times = 0; times < 2; times += 1) collect({ type: 'minor' });
  }
  // The last ones may still close.
  expect(oldBytes() - before).toBeLessThan((connectionCount / 2) * markBytes);
  await target.close();
});
