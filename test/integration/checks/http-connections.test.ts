import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runApi } from '../../../src/checks/api/run.ts';
import { ApiSpec } from '../../../src/checks/api/spec.ts';
import type { ClientCertificate, RunContext } from '../../../src/checks/contract/run-context.ts';
import { clientCertificateFor } from '../../../src/checks/http/client-certificate.ts';
import { runUrl } from '../../../src/checks/url/run.ts';
import { UrlSpec } from '../../../src/checks/url/spec.ts';
import { sampleOf } from '../../helpers/night.ts';
import { runContext } from '../../helpers/run-context.ts';
import {
  createAuthority,
  type KeyAndCertificate,
  type TestAuthority,
} from '../../helpers/targets/certificates.ts';
import { startSilentTarget } from '../../helpers/targets/hostile-target.ts';
import {
  type HttpTarget,
  startHttpsTarget,
  startHttpTarget,
  startTlsCloser,
} from '../../helpers/targets/http-target.ts';
import { type ProxyOptions, startProxyTarget } from '../../helpers/targets/proxy-target.ts';

let authority: TestAuthority;
let client: KeyAndCertificate;
let secure: HttpTarget;
let plain: HttpTarget;
beforeAll(async () => {
  authority = await createAuthority();
  client = await authority.issue({ hosts: ['client'] });
  secure = await startHttpsTarget({ identity: await authority.issue() });
  plain = await startHttpTarget();
});
afterAll(async () => {
  await secure.close();
  await plain.close();
});

/** A client certificate whose `ca` makes the test authority trusted. */
const trusting = (): ClientCertificate[] => [{ host: '*', ca: authority.cert, ...client }];

function run(url: string, context: Partial<RunContext> = {}, request: Record<string, unknown> = {}) {
  return runApi(ApiSpec.parse({ request: { ...request, url } }), runContext(context));
}

describe('TLS', () => {
  it('checks the certificate by default', async () => {
    const untrusted = await run(secure.url);
    expect(untrusted.failure).toMatchObject({ code: 'TLS_CERTIFICATE_INVALID', owner: 'target' });
    expect((await run(secure.url, {}, { skipSSL: true })).failure).toBeUndefined();
    expect((await run(secure.url, { clientCertificates: trusting() })).failure).toBeUndefined();
  });

  it('is the subject of assertions on the connection', async () => {
    const identity = await authority.issue({ toDays: 9.5 });
    const target = await startHttpsTarget({ identity });
    const about = (property: string, comparison: string, text: string) => ({
      source: 'CONNECTION',
      property,
      comparison,
      target: text,
    });
    const assertions = [
      about('certificateDaysRemaining', 'GREATER_THAN', '8'),
      about('certificateDaysRemaining', 'GREATER_THAN', '14'),
      about('tlsVersion', 'GREATER_THAN', '1.1'),
      about('tlsVersion', 'LESS_THAN', '1.3'),
    ];
    const context = { clientCertificates: trusting() };
    const { detail, failure } = await run(target.url, context, { assertions });
    await target.close();
    expect(detail.assertions.map(({ actual }) => actual)).toEqual([9, 9, 1.3, 1.3]);
    expect(detail.assertions.map(({ error }) => error === null)).toEqual([true, false, true, false]);
    expect(failure?.code).toBe('ASSERTION_FAILED');
    const unknown = { assertions: [about('certificateDays', 'EQUALS', '1')], url: target.url };
    expect(UrlSpec.safeParse({ request: unknown }).error?.issues).toMatchObject([
      { path: ['request', 'assertions', 0, 'property'], message: expect.stringContaining('tlsVersion') },
    ]);
  });

  it.each([
    ['expired', { fromDays: -10, toDays: -1 }, /certificate has expired; this host's clock says/],
    ['not yet valid', { fromDays: 1, toDays: 10 }, /not yet valid; this host's clock says/],
    ['for another name', { hosts: ['other.example'] }, /does not match/],
  ])('refuses a certificate that is %s', async (_name, options, message) => {
    const target = await startHttpsTarget({ identity: await authority.issue(options) });
    const context = { clientCertificates: trusting() };
    const { failure } = await run(target.url, context);
    const skipped = await run(target.url, context, { skipSSL: true });
    await target.close();
    expect(failure?.code).toBe('TLS_CERTIFICATE_INVALID');
    expect(failure?.message).toMatch(message);
    expect(failure?.message).toContain(`127.0.0.1:${target.port}`);
    expect(skipped.failure).toBeUndefined();
  });

  it('sends the name to servers with several certificates', async () => {
    const url = secure.url.replace('127.0.0.1', 'localhost');
    expect((await run(url, { clientCertificates: trusting() })).failure).toBeUndefined();
  });

  it('requests another name than that of the host, but not of redirect hosts', async () => {
    const asked: unknown[] = [];
    const named = await startHttpsTarget({
      // Its validity is longer than that of the host it redirects to, whose certificate is reported.
      identity: await authority.issue({ hosts: ['shop.example'], toDays: 300 }),
      onSecureConnection: ({ servername }) => asked.push(servername),
    });
    const context = { clientCertificates: trusting() };
    const byHost = await run(named.url, context);
    const byName = await run(
      named.url,
      { ...context, variables: { SITE: 'shop' } },
      { serverName: '{{SITE}}.example' },
    );
    const elsewhere = encodeURIComponent(secure.url.replace('127.0.0.1', 'localhost'));
    const redirected = await run(`${named.url}/redirect-to?url=${elsewhere}`, context, {
      serverName: 'shop.example',
    });
    const unusable = await run(named.url, context, { serverName: '{{NOTHING}}' });
    await named.close();
    expect(asked).toEqual(['shop.example', 'shop.example']);
    expect(byHost.failure?.code).toBe('TLS_CERTIFICATE_INVALID');
    expect(byName.failure).toBeUndefined();
    expect(byName.detail.request.serverName).toBe('shop.example');
    expect(byName.detail.response.certificate?.subject).toBe('shop.example');
    expect(redirected.failure).toBeUndefined();
    expect(redirected.detail.response.certificate?.subject).toBe('localhost');
    expect(unusable.failure).toMatchObject({ code: 'HOST_INVALID', owner: 'config' });
  });

  it('shows a client certificate to servers that demand one', async () => {
    const demanding = await startHttpsTarget({
      identity: await authority.issue(),
      clientAuthority: authority.cert,
    });
    const without = await run(demanding.url, {}, { skipSSL: true });
    const shown = await run(demanding.url, { clientCertificates: trusting() });
    const unusable = await run(demanding.url, {
      clientCertificates: [{ host: '*', cert: client.cert, key: 'no key' }],
    });
    await demanding.close();
    expect(without.failure).toMatchObject({ code: 'TLS_HANDSHAKE_FAILED', owner: 'target' });
    expect(shown.failure).toBeUndefined();
    expect(unusable.failure).toMatchObject({ code: 'REQUEST_INVALID', owner: 'config' });
  });

  it('presents client certificates for API checks only', async () => {
    const spec = UrlSpec.parse({ request: { url: secure.url } });
    const { failure } = await runUrl(spec, runContext({ clientCertificates: trusting() }));
    expect(failure?.code).toBe('TLS_CERTIFICATE_INVALID');
  });

  it('that is too old, absent, or broken off is a failed handshake', async () => {
    const identity = await authority.issue();
    const old = await startHttpsTarget({
      identity,
      tls: { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL@SECLEVEL=0' },
    });
    const closer = await startTlsCloser(identity);
    const skipSSL = { skipSSL: true };
    expect((await run(old.url, {}, skipSSL)).failure?.code).toBe('TLS_HANDSHAKE_FAILED');
    expect((await run(plain.url.replace('http', 'https'), {}, skipSSL)).failure?.code).toBe(
      'TLS_HANDSHAKE_FAILED',
    );
    expect((await run(closer.url, {}, skipSSL)).failure?.code).toBe('CONNECTION_RESET');
    expect((await run(secure.url.replace('https', 'http'))).failure?.owner).toBe('target');
    await old.close();
    await closer.close();
  });

  it('never resumes a session', async () => {
    const handshakes: boolean[] = [];
    const target = await startHttpsTarget({
      identity: await authority.issue(),
      onSecureConnection: (socket) => handshakes.push(socket.isSessionReused()),
    });
    for (let count = 0; count < 3; count += 1) await run(target.url, {}, { skipSSL: true });
    await target.close();
    expect(handshakes).toEqual([false, false, false]);
  });
});

describe('client certificates', () => {
  const certificate = (host: string, cert = host): ClientCertificate => ({ host, cert, key: '' });
  it.each([
    ['api.example.com', ['*.example.com', 'api.example.com'], 'api.example.com'],
    ['API.example.com', ['api.EXAMPLE.com'], 'api.EXAMPLE.com'],
    ['a.example.com', ['*.example.com', '*'], '*.example.com'],
    ['a.example.com', ['*', '*.example.com'], '*'],
    ['example.com', ['*.example.com'], undefined],
    ['a.b.example.com', ['a.*.com'], 'a.*.com'],
    ['aXexample.com', ['a.example.com'], undefined],
    ['ab', ['ab*ba'], undefined],
    ['a'.repeat(200), [`${'*a'.repeat(50)}b`], undefined],
  ])('for %s from %j: %s', (hostname, hosts, expected) => {
    const found = clientCertificateFor(
      hostname,
      hosts.map((host) => certificate(host)),
    );
    expect(found?.host).toBe(expected);
  });
});

describe('through a proxy', () => {
  async function withProxy(
    options: ProxyOptions,
    test: (proxy: Awaited<ReturnType<typeof startProxyTarget>>) => Promise<void>,
  ): Promise<void> {
    const proxy = await startProxyTarget(options);
    try {
      await test(proxy);
    } finally {
      await proxy.close();
    }
  }
  const credentials = { username: 'us er', password: 'p%:w' };

  it('plain HTTP requests use the absolute URL', () =>
    withProxy(credentials, async (proxy) => {
      const { failure, detail } = await run(`${plain.url}/echo?a=1`, { proxyUrl: proxy.proxyUrl });
      expect(failure).toBeUndefined();
      expect(proxy.requests).toEqual([`GET ${plain.url}/echo?a=1`]);
      expect(plain.requests.at(-1)?.headers).not.toHaveProperty('proxy-authorization');
      expect(detail.response.ipAddress).toBeNull();
      expect(JSON.stringify(detail.request)).not.toContain('Proxy-Authorization');
    }));

  it('HTTPS goes through a tunnel, which is a separate phase', () =>
    withProxy(credentials, async (proxy) => {
      const { failure, detail } = await run(secure.url, {
        proxyUrl: proxy.proxyUrl,
        clientCertificates: trusting(),
      });
      expect(failure).toBeUndefined();
      expect(proxy.requests).toEqual([`CONNECT 127.0.0.1:${secure.port}`]);
      expect(detail.response.timingPhases?.proxy).toBeGreaterThan(0);
      expect(detail.response.timingPhases?.tls).toBeGreaterThan(0);
    }));

  it('the proxy URL may contain templates', () =>
    withProxy(credentials, async (proxy) => {
      const variables = { PROXY: proxy.url, USER: credentials.username, PASS: credentials.password };
      const proxyUrl = `http://{{USER}}:{{PASS}}@127.0.0.1:${proxy.port}`;
      expect((await run(plain.url, { proxyUrl, variables })).failure).toBeUndefined();
      const whole = await run(plain.url, { proxyUrl: '{{PROXY}}', variables });
      expect(whole.failure?.code).toBe('PROXY_FAILED');
    }));

  it('a target that the proxy cannot reach is down', () =>
    withProxy({}, async (proxy) => {
      const { failure } = await run('https://127.0.0.1:1/', { proxyUrl: proxy.proxyUrl });
      expect(failure).toMatchObject({ code: 'HOST_UNREACHABLE', owner: 'target' });
      const plainDown = await run('http://127.0.0.1:1/', { proxyUrl: proxy.proxyUrl });
      expect(plainDown.failure).toMatchObject({
        code: 'STATUS_UNEXPECTED',
        message: 'Unexpected status 502',
      });
    }));

  it('that refuses credentials the location is at fault', () =>
    withProxy(credentials, async (proxy) => {
      const { failure } = await run(secure.url, { proxyUrl: proxy.url }, { skipSSL: true });
      expect(failure).toMatchObject({ code: 'PROXY_FAILED', owner: 'location' });
      expect(failure?.message).toContain('407');
      expect(failure?.message).not.toContain(credentials.password);
    }));

  it.each(sampleOf([400, 403, 404, 405, 429, 500, 501, 502, 503, 504], 3))(
    'that answers CONNECT with %i the target is down',
    (connectStatus) =>
      withProxy({ connectStatus }, async (proxy) => {
        const { failure } = await run(secure.url, { proxyUrl: proxy.url }, { skipSSL: true });
        expect(failure).toMatchObject({ code: 'HOST_UNREACHABLE', owner: 'target' });
        expect(failure?.message).toContain(String(connectStatus));
      }),
  );

  it.each<[string, ProxyOptions['onTarget'], string, string]>([
    ['waits for the target', 'waits', 'CONNECTION_TIMEOUT', 'RESPONSE_TIMEOUT'],
    ['hangs up on it', 'closes', 'HOST_UNREACHABLE', 'CONNECTION_RESET'],
    ['talks nonsense about it', 'babbles', 'HOST_UNREACHABLE', 'RESPONSE_MALFORMED'],
  ])('that %s, and responds by itself, the target is down', (_name, onTarget, secureCode, plainCode) =>
    withProxy({ onTarget }, async (proxy) => {
      const context = { proxyUrl: proxy.url, timeoutMs: 400 };
      const { failure } = await run(secure.url, context, { skipSSL: true });
      expect(failure).toMatchObject({ code: secureCode, owner: 'target' });
      const { failure: ofPlain } = await run(plain.url, context);
      expect(ofPlain).toMatchObject({ code: plainCode, owner: 'target' });
    }),
  );

  it.each<[string, ProxyOptions['onAnything']]>([
    ['says nothing at all', 'waits'],
    ['hangs up on everybody', 'closes'],
    ['talks nonsense', 'babbles'],
  ])('that %s the location is at fault', (_name, onAnything) =>
    withProxy({ onAnything }, async (proxy) => {
      for (const url of [secure.url, plain.url]) {
        const { failure } = await run(url, { proxyUrl: proxy.url, timeoutMs: 400 }, { skipSSL: true });
        expect(failure, url).toMatchObject({ code: 'PROXY_FAILED', owner: 'location' });
        expect(failure?.message).toContain('the proxy itself');
      }
    }),
  );

  it('that is missing the location is at fault, for any request', async () => {
    const silent = await startSilentTarget();
    for (const proxyUrl of [
      'http://127.0.0.1:1',
      'http://nope.invalid:8080',
      silent.url,
      'socks://x',
      'nonsense',
    ]) {
      for (const url of [secure.url, plain.url]) {
        const { failure } = await run(url, { proxyUrl, timeoutMs: 300 });
        expect(failure?.owner, `${url} by ${proxyUrl}`).toBe('location');
      }
    }
    await silent.close();
  });

  it('uses TLS to a proxy that requires it', async () => {
    const identity = await authority.issue();
    const proxy = await startProxyTarget({ identity });
    const { failure } = await run(plain.url, { proxyUrl: proxy.url });
    await proxy.close();
    // The test authority is untrusted: the failure shows that the certificate is verified.
    expect(failure).toMatchObject({ code: 'PROXY_FAILED', owner: 'location' });
    expect(failure?.message).toContain('certificate');
  });
});
