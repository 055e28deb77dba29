import { describe, expect, it } from 'vitest';
import { runApi } from '../../../src/checks/api/run.ts';
import { ApiSpec } from '../../../src/checks/api/spec.ts';
import { runGrpc } from '../../../src/checks/grpc/run.ts';
import { GrpcSpec } from '../../../src/checks/grpc/spec.ts';
import { runSsl } from '../../../src/checks/ssl/run.ts';
import { SslSpec } from '../../../src/checks/ssl/spec.ts';
import { runTcp } from '../../../src/checks/tcp/run.ts';
import { TcpSpec } from '../../../src/checks/tcp/spec.ts';
import { createEgressPolicy, defaultEgressSettings } from '../../../src/probes/egress/policy.ts';
import { startGrpcServer } from '../../helpers/grpc/grpc-server.ts';
import { runContext } from '../../helpers/run-context.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import { startHttpsTarget, startHttpTarget } from '../../helpers/targets/http-target.ts';
import { type SocksOptions, startSocksTarget } from '../../helpers/targets/socks-target.ts';
import { closedPort, startTcpTarget } from '../../helpers/targets/tcp-target.ts';

const authority = await createAuthority();
const identity = await authority.issue();

const short = { timeoutMs: 2000 };
const api = (url: string, proxyUrl: string, rest: Parameters<typeof runContext>[0] = {}) =>
  runApi(ApiSpec.parse({ request: { url, skipSSL: true } }), runContext({ proxyUrl, ...rest }));
const tcp = (request: object, proxyUrl: string, rest: Parameters<typeof runContext>[0] = {}, spec = {}) =>
  runTcp(
    TcpSpec.parse({ ...spec, request: { hostname: '127.0.0.1', ...request } }),
    runContext({ proxyUrl, ...rest }),
  );

describe('a SOCKS5 proxy of the location', () => {
  it('carries HTTP in plain text and in TLS, and resolves the name itself', async () => {
    await using proxy = await startSocksTarget();
    await using plain = await startHttpTarget();
    await using secure = await startHttpsTarget({ identity });
    for (const { url, port } of [plain, secure]) {
      const { failure, detail } = await api(`${url.replace('127.0.0.1', 'localhost')}/echo`, proxy.url);
      expect(failure).toBeUndefined();
      expect(proxy.requests.at(-1)).toBe(`name localhost:${port}`);
      expect(detail.response.timingPhases?.proxy).toBeGreaterThan(0);
      expect(detail.response.timingPhases?.wait).toBe(0);
    }
    // The proxy forwards nothing: the target sees the request as without a proxy.
    expect(plain.requests[0]?.path).toBe('/echo');
    await api(`${plain.url}/echo`, proxy.url);
    expect(proxy.requests.at(-1)).toBe(`ipv4 127.0.0.1:${plain.port}`);
    await api('http://[::1]:9/', proxy.url);
    expect(proxy.requests.at(-1)).toBe('ipv6 0000:0000:0000:0000:0000:0000:0000:0001:9');
  });

  it('carries TCP, including server-first protocols, SSL and gRPC', async () => {
    await using proxy = await startSocksTarget({ login: { user: 'anna', password: 'p@ss:word' } });
    await using banner = await startTcpTarget('binary-banner');
    await using secure = await startHttpsTarget({ identity });
    const grpc = await startGrpcServer();
    try {
      const greeted = await tcp(
        { port: banner.port, assertions: [{ source: 'RESPONSE_DATA', comparison: 'NOT_EMPTY' }] },
        proxy.url,
      );
      expect(greeted.failure).toBeUndefined();
      expect(greeted.detail.response?.timingPhases?.connection).toBeGreaterThan(0);
      const steps = [{ type: 'EXPECT' }];
      const talked = await tcp({ port: banner.port, steps }, proxy.url);
      expect(talked.detail.response?.ipAddress).toBeNull();
      const context = runContext({ proxyUrl: proxy.url });
      const sslConfig = { hostname: 'localhost', port: secure.port, skipChainValidation: true };
      const ssl = await runSsl(SslSpec.parse({ request: { sslConfig } }), context);
      expect(ssl.failure).toBeUndefined();
      const call = { url: 'localhost', port: grpc.port, grpcConfig: { mode: 'HEALTH', tls: false } };
      const called = await runGrpc(GrpcSpec.parse({ request: call }), context);
      expect(called.failure).toBeUndefined();
      expect(proxy.requests).toEqual([
        `ipv4 127.0.0.1:${banner.port}`,
        `ipv4 127.0.0.1:${banner.port}`,
        `name localhost:${secure.port}`,
        `name localhost:${grpc.port}`,
      ]);
    } finally {
      await grpc.close();
    }
  });

  it('may contain variables, and obeys the egress policy like its target', async () => {
    await using proxy = await startSocksTarget();
    await using plain = await startHttpTarget();
    const named = await api(plain.url, '{{PROXY}}', { variables: { PROXY: proxy.url } });
    expect(named.failure).toBeUndefined();
    const strict = createEgressPolicy({ ...defaultEgressSettings, deny: 'denied.example' });
    const denied = await tcp({ hostname: 'denied.example', port: 25 }, proxy.url, { egress: strict });
    expect(denied.failure?.code).toBe('EGRESS_DENIED');
    expect(proxy.requests).toHaveLength(1);
  });

  it.each([
    ['general failure', 1, 'HOST_UNREACHABLE', 'target'],
    ['its rules', 2, 'PROXY_FAILED', 'location'],
    ['no network', 3, 'HOST_UNREACHABLE', 'target'],
    ['no host', 4, 'HOST_UNREACHABLE', 'target'],
    ['a refused connection', 5, 'CONNECTION_REFUSED', 'target'],
    ['an expired TTL', 6, 'HOST_UNREACHABLE', 'target'],
    ['an unknown command', 7, 'PROXY_FAILED', 'location'],
    ['an unknown address', 8, 'PROXY_FAILED', 'location'],
    ['a reply of the future', 99, 'HOST_UNREACHABLE', 'target'],
  ])('refuses, for %s', async (_what, reply, code, owner) => {
    await using proxy = await startSocksTarget({ reply });
    const outcomes = [
      await api('http://a.example/', proxy.url),
      await api('https://a.example/', proxy.url),
      await tcp({ hostname: 'a.example', port: 25 }, proxy.url),
    ];
    for (const { failure } of outcomes) {
      expect(failure).toMatchObject({ code, owner });
      expect(failure?.message).toContain(`reply ${reply}`);
      expect(failure?.message).toContain('a.example');
    }
  });

  it('distinguishes a port that should be closed from one that is open', async () => {
    await using proxy = await startSocksTarget();
    await using open = await startTcpTarget('echo');
    const closed = await tcp({ port: await closedPort() }, proxy.url, {}, { shouldFail: true });
    expect(closed.failure).toBeUndefined();
    const opened = await tcp({ port: open.port }, proxy.url, {}, { shouldFail: true });
    expect(opened.failure?.code).toBe('CONNECTION_UNEXPECTED');
  });

  const babble = Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n');
  const ofLocation: readonly (readonly [name: string, options: SocksOptions, login?: string])[] = [
    ['wants a login', { login: { user: 'anna', password: 'right' } }, ''],
    ['refuses the password', { login: { user: 'anna', password: 'right' } }, 'anna:wrong@'],
    ['is silent', { onGreeting: 'waits' }],
    ['hangs up', { onGreeting: 'closes' }],
    ['speaks HTTP', { onGreeting: babble }],
    ['chooses a login that was not offered', { onGreeting: Buffer.from([5, 7]) }],
    ['floods', { onGreeting: Buffer.alloc(1024 * 1024, 7) }],
  ];
  it.for(ofLocation)('that %s is not a fault of the target', async ([, options, login]) => {
    await using proxy = await startSocksTarget(options);
    const proxyUrl = login === undefined ? proxy.url : proxy.url.replace(/\/\/.*@/, `//${login}`);
    for (const { failure } of [
      await api('http://a.example/', proxyUrl, short),
      await tcp({ hostname: 'a.example', port: 25 }, proxyUrl, short),
    ]) {
      expect(failure).toMatchObject({ code: 'PROXY_FAILED', owner: 'location' });
      expect(failure?.message).not.toContain('wrong');
    }
  });

  it.each([
    ['is silent', 'waits', 'CONNECTION_TIMEOUT'],
    ['hangs up', 'closes', 'HOST_UNREACHABLE'],
    ['answers half', Buffer.from([5, 0]), 'CONNECTION_TIMEOUT'],
  ] as const)(
    'that %s after a request for the target is tested for its own health',
    async (_what, onRequest, code) => {
      await using proxy = await startSocksTarget({ onRequest });
      for (const { failure } of [
        await api('https://a.example/', proxy.url, short),
        await api('http://a.example/', proxy.url, short),
        await tcp({ hostname: 'a.example', port: 25 }, proxy.url, short),
      ])
        expect(failure).toMatchObject({ code, owner: 'target' });
    },
  );

  it('that cannot be reached, or whose name is too long, is the location’s fault', async () => {
    const gone = `socks5://127.0.0.1:${await closedPort()}`;
    expect((await tcp({ port: 25 }, gone)).failure?.code).toBe('PROXY_FAILED');
    expect((await tcp({ port: 25 }, 'socks4://127.0.0.1:1')).failure?.message).toContain('socks5');
    await using proxy = await startSocksTarget({ login: { user: 'anna', password: 'right' } });
    const long = proxy.url.replace('anna', 'u'.repeat(256));
    expect((await tcp({ port: 25 }, long)).failure?.code).toBe('PROXY_FAILED');
  });

  it('of HTTP is not used for TCP', async () => {
    await using banner = await startTcpTarget('binary-banner');
    const { failure } = await tcp({ port: banner.port }, `http://127.0.0.1:${await closedPort()}`);
    expect(failure).toBeUndefined();
  });
});
