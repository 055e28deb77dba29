import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ResolvedAddress } from '../../../src/probes/address.ts';
import { proxyFromUrl } from '../../../src/probes/connection/forward-proxy.ts';
import { createEgressPolicy } from '../../../src/probes/egress/policy.ts';
import { type Resolver, systemResolver } from '../../../src/probes/resolver.ts';
import { probe } from '../../helpers/targets/http-request.ts';
import { type HttpTarget, startHttpTarget } from '../../helpers/targets/http-target.ts';
import { type ProxyTarget, startProxyTarget } from '../../helpers/targets/proxy-target.ts';
import { converse } from '../../helpers/targets/tcp-request.ts';
import { startTcpTarget, type TcpTarget } from '../../helpers/targets/tcp-target.ts';

let web: HttpTarget;
let echo: TcpTarget;
let proxy: ProxyTarget;
beforeAll(async () => {
  web = await startHttpTarget();
  echo = await startTcpTarget('echo-and-close');
  proxy = await startProxyTarget();
});
afterAll(() => Promise.all([web.close(), echo.close(), proxy.close()]));

const metadataAddress = '169.254.169.254';

/** A malicious name server: each lookup gets the next address list, and the last one repeats. */
class RebindingResolver implements Resolver {
  readonly #answers: readonly string[];
  lookups = 0;

  constructor(...answers: string[]) {
    this.#answers = answers;
  }

  resolve(hostname: string, family: 4 | 6 | 'any'): Promise<readonly ResolvedAddress[]> {
    if (hostname !== 'rebinding.example') return systemResolver.resolve(hostname, family);
    const address = this.#answers[Math.min(this.lookups, this.#answers.length - 1)] ?? '';
    this.lookups += 1;
    return Promise.resolve([{ address, family: address.includes(':') ? 6 : 4 }]);
  }
}

/** Spellings of the metadata service in URLs. */
const metadataHosts = [
  metadataAddress,
  '0xa9fea9fe',
  '0251.0376.0251.0376',
  '2852039166',
  '169.16689662',
  '169.254.43518',
  '１６９．２５４．１６９．２５４',
  '%31%36%39.254.169.254',
  '[::ffff:a9fe:a9fe]',
  '[::ffff:169.254.169.254]',
  '[64:ff9b::a9fe:a9fe]',
  '[fd00:ec2::254]',
  '[fe80::1]',
];

describe('a name that is rebound', () => {
  it('is connected to at the judged address, without a second lookup', async () => {
    const resolver = new RebindingResolver('127.0.0.1', metadataAddress);
    const http = await probe(`http://rebinding.example:${web.port}/`, { resolver });
    expect(http).toMatchObject({ error: undefined, address: '127.0.0.1' });
    expect(resolver.lookups).toBe(1);
    const again = new RebindingResolver('127.0.0.1', metadataAddress);
    const tcp = await converse({ ...echo, host: 'rebinding.example' }, { resolver: again, data: 'x' });
    expect(tcp).toMatchObject({ error: undefined, address: '127.0.0.1' });
    expect(again.lookups).toBe(1);
  });

  it('is refused as soon as it resolves to a closed address', async () => {
    const resolver = new RebindingResolver('127.0.0.1', metadataAddress);
    const target = { ...echo, host: 'rebinding.example' };
    await converse(target, { resolver, data: 'x' });
    const { error, isConnected } = await converse(target, { resolver, data: 'x' });
    expect(error).toMatchObject({ kind: 'egress-denied' });
    expect(error?.message).toMatch(/^a connection to 169\.254\.169\.254 \(rebinding\.example\) is refused/);
    expect(isConnected).toBe(false);
  });

  it('is refused inside a chain of redirects to itself', async () => {
    const resolver = new RebindingResolver('127.0.0.1', metadataAddress);
    const { error, redirectCount } = await probe(`http://rebinding.example:${web.port}/redirect/5`, {
      resolver,
    });
    expect(error?.kind).toBe('egress-denied');
    expect(redirectCount).toBe(1);
    expect(resolver.lookups).toBe(2);
  });

  it.each(['::ffff:a9fe:a9fe', '64:ff9b::a9fe:a9fe', '2852039166', '0251.0376.0251.0376'])(
    'is refused if its address is spelled %s',
    async (address) => {
      const { error } = await converse(
        { ...echo, host: 'rebinding.example' },
        { resolver: new RebindingResolver(address) },
      );
      expect(error?.kind).toBe('egress-denied');
    },
  );

  it('is refused if the resolver returns another name', async () => {
    const { error } = await converse(
      { ...echo, host: 'rebinding.example' },
      { resolver: new RebindingResolver('localhost') },
    );
    expect(error).toMatchObject({ kind: 'egress-denied' });
    expect(error?.message).toContain('is no IP address');
  });
});

describe('the metadata service', () => {
  it.each(metadataHosts)('is refused as http://%s/', async (host) => {
    const { error, head } = await probe(`http://${host}/latest/meta-data/`);
    expect(error?.kind).toBe('egress-denied');
    expect(head).toBeUndefined();
  });

  it.each(metadataHosts)('is refused if a redirect leads to http://%s/', async (host) => {
    // Servers that put a raw address into the header send its UTF-8 bytes.
    const location = Buffer.from(`http://${host}/latest/meta-data/`).toString('latin1');
    const { error, redirectCount } = await probe(
      `${web.url}/redirect-to?url=${encodeURIComponent(location)}`,
    );
    expect(error?.kind).toBe('egress-denied');
    expect(redirectCount).toBe(1);
  });

  it.each(['http', 'https'])('is not requested through a proxy over %s', async (scheme) => {
    for (const host of [...metadataHosts, 'metadata.google.internal']) {
      const { error } = await probe(`${scheme}://${host}/`, { proxy: proxyFromUrl(new URL(proxy.url)) });
      expect(error?.kind, host).toBe('egress-denied');
    }
    expect(proxy.requests).toEqual([]);
  });
});

describe('a proxy', () => {
  it('is judged by its own address', async () => {
    const egress = createEgressPolicy({ allow: '', deny: '127.0.0.2', ownPorts: [] });
    const url = new URL(proxy.url.replace('127.0.0.1', '127.0.0.2'));
    const { error } = await probe(web.url, { egress, proxy: proxyFromUrl(url) });
    expect(error).toMatchObject({ kind: 'egress-denied', phase: 'proxy' });
    const own = createEgressPolicy({ allow: '', deny: '', ownPorts: [proxy.port] });
    const { error: ownError } = await probe(web.url, {
      egress: own,
      proxy: proxyFromUrl(new URL(proxy.url)),
    });
    expect(ownError?.message).toContain("the agent's own");
  });
});

describe('rules of the operator', () => {
  it('apply to HTTP and TCP alike', async () => {
    const egress = createEgressPolicy({ allow: '', deny: '127.0.0.0/8', ownPorts: [] });
    const before = web.connectionCount() + echo.connectionCount();
    for (const host of ['127.0.0.1', 'localhost', '0', '2130706433']) {
      expect((await probe(`http://${host}:${web.port}/`, { egress })).error?.message).toContain(
        'by the rule 127.0.0.0/8 of EGRESS_DENY',
      );
    }
    expect((await converse(echo, { egress })).error?.kind).toBe('egress-denied');
    expect(web.connectionCount() + echo.connectionCount()).toBe(before);
  });

  it('can open one address of a closed network', async () => {
    const egress = createEgressPolicy({ allow: '127.0.0.1', deny: '127.0.0.0/8', ownPorts: [] });
    expect((await probe(web.url, { egress })).head?.status).toBe(200);
    expect((await converse({ ...echo, host: '127.0.0.2' }, { egress })).error?.kind).toBe('egress-denied');
  });
});
