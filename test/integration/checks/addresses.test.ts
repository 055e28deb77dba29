import type { ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { runApi } from '../../../src/checks/api/run.ts';
import { ApiSpec } from '../../../src/checks/api/spec.ts';
import type { NameResolver, RunContext } from '../../../src/checks/contract/run-context.ts';
import { HttpDetail } from '../../../src/checks/http/detail.ts';
import { runSsl } from '../../../src/checks/ssl/run.ts';
import { SslSpec } from '../../../src/checks/ssl/spec.ts';
import { TcpDetail } from '../../../src/checks/tcp/detail.ts';
import { runTcp } from '../../../src/checks/tcp/run.ts';
import { TcpSpec } from '../../../src/checks/tcp/spec.ts';
import { ResolveError } from '../../../src/probes/resolver.ts';
import { runContext } from '../../helpers/run-context.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import { startHttpTarget } from '../../helpers/targets/http-target.ts';
import { listen } from '../../helpers/targets/listening.ts';
import { startSocksTarget } from '../../helpers/targets/socks-target.ts';
import { startTcpTarget } from '../../helpers/targets/tcp-target.ts';

const name = 'shop.example';

/** A resolver that knows the addresses of one name. */
function resolverOf(...addresses: readonly string[]): NameResolver {
  const known = addresses.map((address) => ({
    address,
    family: address.includes(':') ? (6 as const) : (4 as const),
  }));
  return {
    resolve: async (hostname, family) => {
      const found = known.filter((one) => family === 'any' || one.family === family);
      if (hostname === name && found.length > 0) return found;
      throw new ResolveError('not-found', 'ENODATA', `${hostname} has no address of IPv${family}`);
    },
  };
}

const tcp = async (port: number, addresses: string, context: Partial<RunContext>) => {
  const spec = TcpSpec.parse({ request: { hostname: name, port, addresses } });
  const outcome = await runTcp(spec, runContext(context));
  expect(TcpDetail.parse(outcome.detail)).toEqual(outcome.detail);
  return outcome;
};
const api = async (request: object, context: Partial<RunContext>) => {
  const outcome = await runApi(
    ApiSpec.parse({ request: { skipSSL: true, ...request } }),
    runContext(context),
  );
  expect(HttpDetail.parse(outcome.detail)).toEqual(outcome.detail);
  return outcome;
};
const verdictsOf = ({
  detail,
}: {
  detail: { addresses?: readonly { address: string | null; verdict: string }[] };
}) => detail.addresses?.map(({ address, verdict }) => [address, verdict]);

describe('every address of a name', () => {
  it('is contacted: dead ones are named', async () => {
    await using target = await startTcpTarget('binary-banner');
    const resolver = resolverOf('127.0.0.1', '127.0.0.3', '127.0.0.1', '127.0.0.4', '127.0.0.5');
    // The target listens on the first address only.
    const outcome = await tcp(target.port, 'every', { resolver });
    expect(outcome.failure).toMatchObject({ code: 'CONNECTION_REFUSED', owner: 'target' });
    expect(outcome.failure?.message).toMatch(
      /^3 of 4 addresses failed \(127\.0\.0\.3, 127\.0\.0\.4, 127\.0\.0\.5\): 127\.0\.0\.3: connect ECONNREFUSED/,
    );
    expect(verdictsOf(outcome)).toEqual([
      ['127.0.0.1', 'passed'],
      ['127.0.0.3', 'failed'],
      ['127.0.0.4', 'failed'],
      ['127.0.0.5', 'failed'],
    ]);
    expect(outcome.errorMessages).toEqual([outcome.failure?.message]);
  });

  it('passes if all do, with the result of the first, and shows which one a browser would use', async () => {
    await using target = await startHttpTarget({ host: '0.0.0.0' });
    const resolver = resolverOf('127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4');
    const url = `http://${name}:${target.port}/echo`;
    const { failure, detail, responseTimeMs } = await api({ url, addresses: 'every' }, { resolver });
    expect(failure).toBeUndefined();
    expect(detail.response.ipAddress).toBe('127.0.0.1');
    expect(detail.addresses).toHaveLength(4);
    expect(detail.addresses?.[0]).toMatchObject({ responseTime: responseTimeMs, isBrowsersChoice: true });
    expect(target.requests).toHaveLength(4);
    const one = await api({ url }, { resolver });
    expect(one.detail.addresses).toBeUndefined();
    expect(target.requests).toHaveLength(5);
  });

  it('is judged separately: a failing one decides the verdict, at any position', async () => {
    const seen: (string | undefined)[] = [];
    await using target = await startHttpTarget({
      host: '0.0.0.0',
      routes: {
        health: (_request, reply) => {
          const { localAddress } = (reply as unknown as ServerResponse).socket ?? {};
          seen.push(localAddress);
          reply.writeHead(localAddress === '127.0.0.3' ? 503 : 200);
          reply.end();
        },
      },
    });
    const resolver = resolverOf('127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4');
    const outcome = await api(
      { url: `http://${name}:${target.port}/health`, addresses: 'every' },
      { resolver },
    );
    expect(outcome.failure?.message).toMatch(/^1 of 4 addresses failed: 127\.0\.0\.3: /);
    expect(outcome.detail.response).toMatchObject({ status: 503, ipAddress: '127.0.0.3' });
    expect(seen.toSorted()).toEqual(['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4']);
  });

  it('has its certificates watched: the first to expire counts', async () => {
    const authority = await createAuthority();
    const fresh = await authority.issue({ hosts: [name], toDays: 90 });
    const old = await authority.issue({ hosts: [name], toDays: 3 });
    const server = createServer((socket) => {
      const secureContext = createSecureContext(socket.localAddress === '127.0.0.2' ? old : fresh);
      const secure = new TLSSocket(socket, { isServer: true, secureContext });
      secure.on('error', () => secure.destroy());
    });
    await using target = await listen(server, { scheme: 'tls', host: '0.0.0.0' });
    const sslConfig = {
      hostname: name,
      port: target.port,
      addresses: 'every',
      skipChainValidation: true,
      alertDaysBeforeExpiry: 7,
    };
    const context = runContext({ resolver: resolverOf('127.0.0.1', '127.0.0.2') });
    const outcome = await runSsl(SslSpec.parse({ request: { sslConfig } }), context);
    expect(verdictsOf(outcome)).toEqual([
      ['127.0.0.1', 'passed'],
      ['127.0.0.2', 'degraded'],
    ]);
    expect(outcome.isDegraded).toBe(true);
    expect(outcome.certificateExpiresAt).toBeLessThan(Date.now() + 4 * 86_400_000);
  });

  it('is limited to 16', async () => {
    await using target = await startTcpTarget('binary-banner');
    const addresses = Array.from({ length: 20 }, (_, index) => `127.0.1.${index + 1}`);
    const { detail } = await tcp(target.port, 'every', { resolver: resolverOf(...addresses) });
    expect(detail.addresses).toHaveLength(16);
    expect(detail.jobLog?.request.map(({ msg }) => msg).join('\n')).toContain('has 20 addresses');
  });

  it('is only one if an address is given, or if a proxy resolves the name', async () => {
    await using target = await startTcpTarget('binary-banner');
    const spec = TcpSpec.parse({ request: { hostname: '127.0.0.1', port: target.port, addresses: 'every' } });
    const written = await runTcp(spec, runContext());
    expect(written.failure).toBeUndefined();
    await using proxy = await startSocksTarget({ names: { [name]: '127.0.0.1' } });
    const proxied = await tcp(target.port, 'every', { proxyUrl: proxy.url });
    expect(proxied.failure).toBeUndefined();
    expect(proxied.detail.addresses).toBeUndefined();
    expect(proxied.detail.jobLog?.request[0]?.msg).toContain('the proxy resolves the name');
  });

  it('leaves the evidence of the displayed one', async () => {
    await using target = await startTcpTarget('binary-banner');
    const kept: string[] = [];
    const artifacts = {
      add: async ({ name: file }: { name: string }) => {
        kept.push(file);
        return true;
      },
    };
    const resolver = resolverOf('127.0.0.1', '127.0.0.8', '127.0.0.9');
    const { detail } = await tcp(target.port, 'every', { resolver, artifacts });
    expect(kept).toEqual([...new Set(kept)]);
    expect(detail.jobAssets ?? []).toEqual(kept.filter((file) => file.endsWith('.txt')));
    expect(detail.jobLog?.request.some(({ msg }) => msg.startsWith('127.0.0.8: '))).toBe(true);
  });
});

describe('both families', () => {
  it('must work, and the browser’s choice is IPv6', async () => {
    await using target = await startTcpTarget('binary-banner', { host: '::' });
    const outcome = await tcp(target.port, 'bothFamilies', { resolver: resolverOf('127.0.0.1', '::1') });
    expect(outcome.failure).toBeUndefined();
    expect(outcome.detail.addresses).toMatchObject([
      { address: '127.0.0.1', ipFamily: 'IPv4', isBrowsersChoice: false },
      { address: '::1', ipFamily: 'IPv6', isBrowsersChoice: true },
    ]);
  });

  it('fail if one has no address, or its port is closed', async () => {
    await using target = await startTcpTarget('binary-banner');
    const lonely = await tcp(target.port, 'bothFamilies', { resolver: resolverOf('127.0.0.1') });
    expect(lonely.failure).toMatchObject({ code: 'NAME_NOT_FOUND', owner: 'target' });
    expect(lonely.failure?.message).toMatch(/^1 of 2 addresses failed: IPv6: /);
    const deaf = await tcp(target.port, 'bothFamilies', { resolver: resolverOf('127.0.0.1', '::1') });
    expect(deaf.failure?.message).toMatch(/^1 of 2 addresses failed: ::1: /);
    expect(deaf.detail.addresses?.[0]).toMatchObject({ verdict: 'passed', isBrowsersChoice: true });
  });
});
