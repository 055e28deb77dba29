import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { diagnose } from '../../helpers/agent/doctor-run.ts';
import { FakeService } from '../../helpers/agent/fake-service/fake-service.ts';
import { freePort } from '../../helpers/free-port.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';
import { createAuthority, type TestAuthority } from '../../helpers/targets/certificates.ts';
import { type ProxyTarget, startProxyTarget } from '../../helpers/targets/proxy-target.ts';
import { startRealProxy, whyNoRealProxies } from '../../helpers/targets/real-proxies.ts';
import { whyNoNamespaces } from '../../helpers/wire/network-namespaces.ts';

/** Real faults between the agent and the service; the doctor must report exactly the one that was injected. */
describe('picket doctor', { timeout: 120_000 }, () => {
  let authority: TestAuthority;
  const opened: { close(): Promise<unknown> }[] = [];
  const folder = temporaryFolder();
  const authorities = join(folder.path, 'authorities');
  let service: FakeService;

  async function serve(tls?: { readonly key: string; readonly cert: string }): Promise<FakeService> {
    const other = new FakeService(tls);
    await other.listen();
    opened.push(other);
    return other;
  }

  async function proxyWith(options: Parameters<typeof startProxyTarget>[0]): Promise<ProxyTarget> {
    const proxy = await startProxyTarget(options);
    opened.push(proxy);
    return proxy;
  }

  beforeAll(async () => {
    authority = await createAuthority('Corporate TLS Inspection');
    mkdirSync(authorities);
    writeFileSync(join(authorities, 'corporate.pem'), authority.cert);
  });
  beforeEach(async () => {
    service = await serve();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((one) => one.close()));
  });
  afterAll(() => folder.remove());

  it('reports a service that is down', async () => {
    const { problems, problem } = await diagnose({ SERVICE_URL: `http://127.0.0.1:${await freePort()}` });
    expect(problems).toEqual(['tcp']);
    expect(problem).toMatchObject({
      detail: expect.stringContaining('ECONNREFUSED'),
      fix: expect.stringContaining('Nothing listens there'),
    });
  });

  it.each(['https', 'http'] as const)(
    'reports a proxy to an %s service that requires credentials',
    async (scheme) => {
      const target = scheme === 'https' ? await serve(await authority.issue()) : service;
      const proxy = await proxyWith({ username: 'agent', password: 'open sesame' });
      const variable = scheme === 'https' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
      const environment = { SERVICE_URL: target.url, CA_CERTS_DIR: authorities };
      const { problems, problem } = await diagnose({ ...environment, [variable]: proxy.url });
      expect(problems).toEqual(['proxy']);
      expect(problem).toMatchObject({
        detail: expect.stringContaining('407'),
        fix: expect.stringContaining('USER:PASSWORD'),
      });
      const withCredentials = await diagnose({ ...environment, [variable]: proxy.proxyUrl });
      expect(withCredentials.problems).toEqual([]);
      expect(JSON.stringify(withCredentials.findings)).not.toMatch(/open.{1,3}sesame/);
    },
  );

  it.skipIf(whyNoRealProxies() !== null)('reports a SOCKS5 proxy that requires credentials', async () => {
    const login = { user: 'agent', password: 'open sesame' };
    await using proxy = await startRealProxy('microsocks', login);
    const { problems, problem } = await diagnose({ SERVICE_URL: service.url, ALL_PROXY: proxy.url });
    expect(problems).toEqual(['proxy']);
    expect(problem).toMatchObject({ fix: expect.stringContaining('socks5://USER:PASSWORD@HOST:PORT') });
    const url = proxy.url.replace('//', '//agent:open%20sesame@');
    const withCredentials = await diagnose({ SERVICE_URL: service.url, ALL_PROXY: url });
    expect(withCredentials.problems).toEqual([]);
    expect(JSON.stringify(withCredentials.findings)).not.toMatch(/open.{1,3}sesame/);
  });

  it('reports the authority of a proxy that intercepts TLS', async () => {
    const secure = await serve(await authority.issue());
    const { problems, problem } = await diagnose({ SERVICE_URL: secure.url });
    expect(problems).toEqual(['tls']);
    expect(problem).toMatchObject({
      detail: expect.stringContaining('"Corporate TLS Inspection"'),
      fix: expect.stringContaining('CA_CERTS_DIR'),
    });
  });

  it.each([
    ['is expired', { fromDays: -9, toDays: -2 }, /Renew the certificate/],
    ['is for another host', { hosts: ['example.com'] }, /a name in SERVICE_URL/],
  ])('reports a certificate that %s', async (_name, options, fix) => {
    const secure = await serve(await authority.issue(options));
    const { problems, problem } = await diagnose({ SERVICE_URL: secure.url, CA_CERTS_DIR: authorities });
    expect(problems).toEqual(['tls']);
    expect(problem?.fix).toMatch(fix);
  });

  it('reports a network without DNS', async (context) => {
    const reason = whyNoNamespaces();
    if (reason) context.skip(reason);
    const resolvConf = join(folder.path, 'resolv.conf');
    writeFileSync(resolvConf, 'nameserver 127.0.0.253\noptions timeout:1 attempts:1\n');
    const { problems, problem } = await diagnose(
      { SERVICE_URL: 'https://service.picket.test' },
      { preparation: `mount --bind ${resolvConf} /etc/resolv.conf` },
    );
    expect(problems).toEqual(['dns']);
    expect(problem).toMatchObject({
      detail: expect.stringContaining('127.0.0.253'),
      fix: expect.stringContaining('/etc/resolv.conf'),
    });
  });
});
