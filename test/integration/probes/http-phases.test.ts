import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type HttpPhases, timingsOf } from '../../../src/probes/http/phases.ts';
import { type Resolver, systemResolver } from '../../../src/probes/resolver.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import { probe } from '../../helpers/targets/http-request.ts';
import { type HttpTarget, startHttpsTarget, startHttpTarget } from '../../helpers/targets/http-target.ts';

let target: HttpTarget;
beforeAll(async () => {
  target = await startHttpTarget();
  // The first request of a process includes loading the parser.
  await probe(target.url);
});
afterAll(() => target.close());

function expectWhole(phases: HttpPhases | undefined, elapsedMs: number): HttpPhases {
  if (!phases) throw new Error('the probe gave no phases');
  for (const [name, ms] of Object.entries(phases)) expect(ms, name).toBeGreaterThanOrEqual(0);
  const { wait, dns, tcp, firstByte, download, total } = phases;
  expect(wait + dns + tcp + firstByte + download).toBeCloseTo(total, 6);
  expect(total).toBeCloseTo(elapsedMs, 6);
  expect(phases.proxy + phases.tls).toBeLessThanOrEqual(firstByte);
  return phases;
}

describe('phases of an HTTP probe', () => {
  it('add up to the total', async () => {
    const { phases, elapsedMs } = await probe(`${target.url}/echo`);
    expect(expectWhole(phases, elapsedMs)).toMatchObject({ tls: 0, proxy: 0 });
  });

  it('show a slow answer in firstByte and nowhere else', async () => {
    const { phases, elapsedMs } = await probe(`${target.url}/delay/300`);
    expect(expectWhole(phases, elapsedMs).firstByte).toBeGreaterThanOrEqual(299);
  });

  it('show a slow body in download', async () => {
    const { phases, elapsedMs } = await probe(`${target.url}/drip/4/75`);
    // node:http sends the head with the first piece.
    expect(expectWhole(phases, elapsedMs).download).toBeGreaterThanOrEqual(220);
  });

  it('show a slow resolver in dns', async () => {
    const slow: Resolver = {
      async resolve(_hostname, family) {
        await new Promise((resolve) => setTimeout(resolve, 200));
        return systemResolver.resolve('127.0.0.1', family);
      },
    };
    const url = `http://slow.example:${target.port}/`;
    const { phases, elapsedMs } = await probe(url, { resolver: slow });
    expect(expectWhole(phases, elapsedMs).dns).toBeGreaterThanOrEqual(199);
  });

  it('are sums over a chain of redirects', async () => {
    const slowHop = await startHttpTarget({
      routes: {
        hop: (_request, reply) => {
          setTimeout(() => {
            reply.writeHead(302, { location: `${target.url}/delay/150` });
            reply.end();
          }, 150);
        },
      },
    });
    const { phases, elapsedMs, redirectCount } = await probe(`${slowHop.url}/hop`);
    await slowHop.close();
    expect(redirectCount).toBe(1);
    expect(expectWhole(phases, elapsedMs).firstByte).toBeGreaterThanOrEqual(298);
  });

  it('have TLS as a part of firstByte, over HTTP/1.1 and HTTP/2', async () => {
    const authority = await createAuthority();
    const identity = await authority.issue();
    for (const [protocols, version] of [
      [['http/1.1'], '1.1'],
      [['h2', 'http/1.1'], '2'],
    ] as const) {
      const secure = await startHttpsTarget({ identity, protocols });
      const { phases, elapsedMs, head } = await probe(secure.url, { isCertificateChecked: false });
      await secure.close();
      expect(head?.httpVersion).toBe(version);
      expect(expectWhole(phases, elapsedMs).tls).toBeGreaterThan(0);
    }
  });

  it('are points on one timeline', () => {
    const phases = { wait: 1, dns: 2, tcp: 3, firstByte: 4, download: 5, total: 15, tls: 2, proxy: 1 };
    expect(timingsOf(phases)).toEqual({ socket: 1, lookup: 3, connect: 6, response: 10, end: 15 });
  });
});

describe('connections of an HTTP probe', () => {
  it('are fresh each time', async () => {
    const before = target.connectionCount();
    await probe(target.url);
    await probe(target.url);
    expect(target.connectionCount() - before).toBe(2);
  });

  it('use one address only: a dead first address is not hidden by a second one', async () => {
    const resolver: Resolver = {
      resolve: () =>
        Promise.resolve([
          { address: '127.0.0.2', family: 4 },
          { address: '127.0.0.1', family: 4 },
        ]),
    };
    const { error } = await probe(`http://two.example:${target.port}/`, { resolver });
    expect(error).toMatchObject({ kind: 'connection-refused', phase: 'tcp' });
    expect(error?.message).toBe(`connect ECONNREFUSED 127.0.0.2:${target.port}`);
  });

  it('reach IPv6 literals', async () => {
    const v6 = await startHttpTarget({ host: '::1' });
    const { head, address } = await probe(`${v6.url}/echo`);
    await v6.close();
    expect(head?.status).toBe(200);
    expect(address).toBe('::1');
    expect(v6.requests[0]?.headers.host).toBe(`[::1]:${v6.port}`);
  });

  it('request addresses of the wanted family', async () => {
    const v6 = await startHttpTarget({ host: '::1' });
    const byFamily: Resolver = {
      resolve: (_hostname, family) =>
        Promise.resolve([family === 6 ? { address: '::1', family: 6 } : { address: '127.0.0.1', family: 4 }]),
    };
    const named = `http://both.example:${v6.port}/`;
    const six = await probe(named, { family: 6, resolver: byFamily });
    const four = await probe(named, { family: 4, resolver: byFamily });
    await v6.close();
    expect(six.address).toBe('::1');
    expect(four.error?.kind).toBe('connection-refused');
  });

  it('fail for names that do not exist', async () => {
    const { error } = await probe('http://does-not-exist.invalid/');
    expect(error).toMatchObject({ phase: 'dns' });
    expect(['name-not-found', 'resolver-unavailable']).toContain(error?.kind);
  });
});
