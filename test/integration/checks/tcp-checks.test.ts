import { afterAll, describe, expect, it } from 'vitest';
import type { RunContext } from '../../../src/checks/contract/run-context.ts';
import { TcpDetail } from '../../../src/checks/tcp/detail.ts';
import { runTcp } from '../../../src/checks/tcp/run.ts';
import { TcpSpec } from '../../../src/checks/tcp/spec.ts';
import { createEgressPolicy } from '../../../src/probes/egress/policy.ts';
import { ResolveError } from '../../../src/probes/resolver.ts';
import { runContext } from '../../helpers/run-context.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import { startFilteredTarget } from '../../helpers/targets/filtered-target.ts';
import {
  binaryBanner,
  closedPort,
  startTcpTarget,
  type TcpBehaviour,
  type TcpTarget,
} from '../../helpers/targets/tcp-target.ts';

const targets: TcpTarget[] = [];
afterAll(() => Promise.all(targets.map((target) => target.close())));

async function started(behaviour: TcpBehaviour): Promise<TcpTarget> {
  const target = await startTcpTarget(behaviour);
  targets.push(target);
  return target;
}

async function run(
  request: Record<string, unknown>,
  context: Partial<RunContext> = {},
  rest: Record<string, unknown> = {},
) {
  const spec = TcpSpec.parse({ ...rest, request: { hostname: '127.0.0.1', ...request } });
  const outcome = await runTcp(spec, runContext(context));
  expect(TcpDetail.parse(outcome.detail)).toEqual(outcome.detail);
  return outcome;
}

const assertion = (comparison: string, target = '', property = '') => ({
  source: 'RESPONSE_DATA',
  comparison,
  target,
  property,
});

describe('a TCP monitor', () => {
  it('has the defaults of its type', () => {
    expect(TcpSpec.parse({ request: { hostname: 'a', port: 1 } })).toEqual({
      shouldFail: false,
      request: {
        hostname: 'a',
        port: 1,
        data: null,
        steps: [],
        ipFamily: 'IPv4',
        useSSL: false,
        skipSSL: false,
        serverName: null,
        assertions: [],
      },
      degradedResponseTime: 3000,
      maxResponseTime: 5000,
    });
  });

  it.each(['http://a', 'a:80', '[::1]:80', 'a/b', 'two words', '1.2.3.4.5'])(
    'refuses the host %s',
    (hostname) => {
      expect(TcpSpec.safeParse({ request: { hostname, port: 1 } }).success).toBe(false);
    },
  );

  it.each(['a', '::1', '[::1]', '10.0.0.1', '127.1', '{{HOST}}:{{PORT}}'])(
    'accepts the host %s',
    (hostname) => {
      expect(TcpSpec.safeParse({ request: { hostname, port: 1 } }).success).toBe(true);
    },
  );

  it('waits for the rest of a response that an assertion needs', async () => {
    const target = await started('banner-after-loss');
    const wanted = (text: string) => ({ port: target.port, assertions: [assertion('CONTAINS', text)] });
    const { failure, detail } = await run(wanted('ready'));
    expect(failure).toBeUndefined();
    expect(detail.response).toMatchObject({ data: '220 hello ready\r\n', truncated: false });
    // Longer than the pause that ends a reply when no assertion waits for more data.
    expect(detail.response.timingPhases?.data).toBeGreaterThan(500);
    // A passing assertion ends the wait.
    expect((await run(wanted('hello'))).detail.response.data).toBe('220 hello ');
    const never = await run(wanted('goodbye'), { timeoutMs: 2500 });
    expect(never.failure).toMatchObject({ code: 'ASSERTION_FAILED' });
    // The response time ends with the last data, not with the wait for more.
    expect(never.responseTimeMs).toBeLessThan(2400);
    expect(never.detail.response.truncated).toBe(false);
  });

  it('passes on an open port without waiting for a banner', async () => {
    const target = await started('silent');
    const { failure, detail, responseTimeMs } = await run({ port: target.port });
    expect(failure).toBeUndefined();
    expect(detail.response).toEqual({
      truncated: false,
      timingPhases: expect.objectContaining({ tls: 0, data: 0, total: responseTimeMs }),
      ipAddress: '127.0.0.1',
      ipFamily: 'IPv4',
      certificate: null,
    });
    expect(responseTimeMs).toBeGreaterThan(0);
  });

  it('sends its data, with templates filled in, and shows the response', async () => {
    const target = await started('echo-and-close');
    const variables = { HOST: '127.0.0.1', NAME: 'a&b', WANTED: 'a&b' };
    const { failure, detail } = await run(
      {
        hostname: ' {{HOST}} ',
        port: target.port,
        data: 'HELO {{NAME}}\r\n',
        assertions: [assertion('EQUALS', '{{WANTED}}', 'HELO (\\S+)')],
      },
      { variables },
    );
    expect(failure).toBeUndefined();
    expect(target.received()).toBe('HELO a&b\r\n');
    expect(detail.request).toMatchObject({ hostname: '127.0.0.1', data: 'HELO a&b\r\n' });
    expect(detail.response.data).toBe('HELO a&b\r\n');
    expect(detail.assertions).toMatchObject([{ actual: 'a&b', error: null }]);
  });

  it('reads a banner if an assertion refers to it', async () => {
    const target = await started('banner-in-pieces');
    const { failure, detail } = await run({
      port: target.port,
      assertions: [
        assertion('CONTAINS', 'ready'),
        assertion('NOT_CONTAINS', '\ufffd'),
        assertion('NOT_EMPTY'),
      ],
    });
    expect(failure).toBeUndefined();
    expect(detail.response.data).toBe('220 grüße ready\r\n');
  });

  it('shows binary data with replacement characters', async () => {
    const target = await started('binary-banner');
    const { detail } = await run({ port: target.port, assertions: [assertion('CONTAINS', '8.0.36')] });
    expect(detail.assertions[0]?.error).toBeNull();
    expect(detail.response.data).toBe(binaryBanner.toString('utf8'));
  });

  it('passes the empty response of a target that closes at once to its assertions', async () => {
    const target = await started('close');
    const empty = await run({ port: target.port, assertions: [assertion('IS_EMPTY')] });
    const filled = await run({ port: target.port, assertions: [assertion('NOT_EMPTY')] });
    expect(empty.failure).toBeUndefined();
    expect(empty.detail.response.data).toBe('');
    expect(filled.failure?.code).toBe('ASSERTION_FAILED');
  });

  it('stores a limited part of a flood', async () => {
    const target = await started('torrent');
    const { failure, detail } = await run({ port: target.port, assertions: [assertion('NOT_EMPTY')] });
    expect(failure).toBeUndefined();
    expect(detail.response.truncated).toBe(true);
    expect(detail.response.data).toHaveLength(256 * 1024);
  });

  it('compares whole milliseconds, and does not count the pause that ends a response', async () => {
    const target = await started('echo');
    const assertions = [{ source: 'RESPONSE_TIME', comparison: 'LESS_THAN', target: '20000' }];
    const startMs = performance.now();
    const { failure, responseTimeMs } = await run({ port: target.port, data: 'x', assertions });
    expect(failure).toBeUndefined();
    // The reply ends when no data has arrived for half a second.
    expect(performance.now() - startMs - responseTimeMs).toBeGreaterThanOrEqual(499);
  });

  it('is degraded between its two limits', async () => {
    const target = await started('banner-in-pieces');
    const request = { port: target.port, assertions: [assertion('NOT_EMPTY')] };
    const outcome = await run(request, {}, { degradedResponseTime: 50 });
    expect(outcome).toMatchObject({ failure: undefined, isDegraded: true, overMaxResponseTime: false });
  });

  it('uses TLS if configured, and checks the certificate by default', async () => {
    const authority = await createAuthority();
    const target = await startTcpTarget('echo-and-close', { identity: await authority.issue() });
    targets.push(target);
    const request = { port: target.port, data: 'x', useSSL: true };
    expect((await run(request)).failure?.code).toBe('TLS_CERTIFICATE_INVALID');
    const { failure, detail } = await run({ ...request, skipSSL: true });
    expect(failure).toBeUndefined();
    expect(detail.response.timingPhases?.tls).toBeGreaterThan(0);
  });
});

describe('the error of a TCP monitor', () => {
  it('reports a refused connection', async () => {
    const port = await closedPort();
    const { detail, failure } = await run({ port });
    expect(detail.response.error).toEqual({
      code: 'ECONNREFUSED',
      errno: -111,
      syscall: 'connect',
      address: '127.0.0.1',
      port,
    });
    expect(detail.requestError).toBe(failure?.message);
    expect(detail.response).toMatchObject({ timingPhases: null, ipAddress: '127.0.0.1' });
    expect(detail.response).not.toHaveProperty('data');
  });

  it('reports a timeout', async () => {
    await using target = await startFilteredTarget();
    const { detail } = await run({ port: target.port }, { timeoutMs: 200 });
    expect(detail.response.error).toEqual({
      code: 'SOCKET_TIMEOUT',
      address: '127.0.0.1',
      port: target.port,
    });
  });

  it.each([
    ['IPv4', 'queryA'],
    ['IPv6', 'queryAaaa'],
  ] as const)('reports a name without %s address', async (ipFamily, syscall) => {
    const resolver = {
      resolve: () => Promise.reject(new ResolveError('not-found', 'ENOTFOUND', 'no such name')),
    };
    const { detail, failure } = await run({ hostname: 'nope.example', port: 1, ipFamily }, { resolver });
    expect(failure?.code).toBe('NAME_NOT_FOUND');
    expect(detail.response.error).toEqual({ code: 'ENOTFOUND', syscall, hostname: 'nope.example' });
  });

  it('uses IPv6 for a name without IPv4, and assertions see the connection', async () => {
    const target = await startTcpTarget('echo-and-close', { host: '::1' });
    targets.push(target);
    const resolver: RunContext['resolver'] = {
      resolve: async (_name, family) => {
        if (family === 4) throw new ResolveError('not-found', 'ENODATA', 'no IPv4 address');
        return [{ address: '::1', family: 6 }];
      },
    };
    const about = (property: string, comparison: string, text = '') => ({
      source: 'CONNECTION',
      property,
      comparison,
      target: text,
    });
    const request = { hostname: 'v6.test', port: target.port };
    const assertions = [about('ipFamily', 'EQUALS', 'IPv6'), about('tlsVersion', 'IS_EMPTY')];
    const { failure, detail } = await run({ ...request, assertions }, { resolver });
    expect(failure).toBeUndefined();
    expect(detail.response).toMatchObject({ ipAddress: '::1', ipFamily: 'IPv6' });
    const unknown = { ...request, assertions: [about('httpVersion', 'EQUALS', '2')] };
    expect(TcpSpec.safeParse({ request: unknown }).success).toBe(false);
  });

  it('reports that the policy does not allow the connection', async () => {
    const egress = createEgressPolicy({ allow: '', deny: '10.0.0.0/8', ownPorts: [] });
    const { detail, failure } = await run({ hostname: '10.1', port: 80 }, { egress });
    expect(failure).toMatchObject({
      code: 'EGRESS_DENIED',
      owner: 'config',
      message: 'a connection to 10.0.0.1 is refused by the rule 10.0.0.0/8 of EGRESS_DENY',
    });
    expect(detail.response.error).toEqual({ code: 'EGRESS_DENIED', hostname: '10.0.0.1', port: 80 });
  });
});

describe('shouldFail of a TCP monitor', () => {
  const shouldFail = { shouldFail: true };

  it('passes when the connection is refused', async () => {
    const { failure, detail, errorMessages } = await run({ port: await closedPort() }, {}, shouldFail);
    expect(failure).toBeUndefined();
    expect(errorMessages).toEqual([]);
    expect(detail.requestError).toBeNull();
    expect(detail.response.error?.code).toBe('ECONNREFUSED');
  });

  it('passes when the connection times out, however long that takes', async () => {
    await using target = await startFilteredTarget();
    const limits = { ...shouldFail, degradedResponseTime: 1, maxResponseTime: 1 };
    const outcome = await run({ port: target.port }, { timeoutMs: 200 }, limits);
    expect(outcome).toMatchObject({ failure: undefined, isDegraded: false, overMaxResponseTime: false });
  });

  it('fails when the port is open, whatever the target then sends or does', async () => {
    for (const behaviour of ['silent', 'close', 'echo'] as const) {
      const { failure } = await run({ port: (await started(behaviour)).port }, {}, shouldFail);
      expect(failure, behaviour).toMatchObject({ code: 'CONNECTION_UNEXPECTED', owner: 'target' });
    }
    const resetting = await run({ port: (await started('reset')).port, data: 'x' }, {}, shouldFail);
    expect(resetting.failure?.owner).toBe('target');
    const silent = await started('silent');
    const late = await run({ port: silent.port, data: 'x' }, { timeoutMs: 200 }, shouldFail);
    expect(late.failure?.code).toBe('RESPONSE_TIMEOUT');
    const noTls = await run({ port: silent.port, useSSL: true }, { timeoutMs: 200 }, shouldFail);
    expect(noTls.failure?.code).toBe('CONNECTION_TIMEOUT');
  });

  it('still requires its assertions to hold', async () => {
    const port = await closedPort();
    const assertions = [assertion('NOT_EMPTY')];
    expect((await run({ port, assertions }, {}, shouldFail)).failure?.code).toBe('ASSERTION_FAILED');
  });

  it('never hides failures of the agent, the location or the definition', async () => {
    const port = await closedPort();
    const stopped = await run({ port }, { signal: AbortSignal.abort() }, shouldFail);
    expect(stopped.failure).toMatchObject({ code: 'RUN_ABORTED', owner: 'agent' });
    const resolver = {
      resolve: () => Promise.reject(new ResolveError('unavailable', 'EAI_AGAIN', 'no answer')),
    };
    const unresolved = await run({ hostname: 'a.example', port }, { resolver }, shouldFail);
    expect(unresolved.failure).toMatchObject({ code: 'RESOLVER_FAILED', owner: 'location' });
    const unknown = {
      resolve: () => Promise.reject(new ResolveError('not-found', 'ENOTFOUND', 'no such name')),
    };
    const unnamed = await run({ hostname: 'a.example', port }, { resolver: unknown }, shouldFail);
    expect(unnamed.failure?.code).toBe('NAME_NOT_FOUND');
    const exhausted = {
      resolve: () => Promise.reject(new ResolveError('unavailable', 'EMFILE', 'too many files')),
    };
    const own = await run({ hostname: 'a.example', port }, { resolver: exhausted }, shouldFail);
    expect(own.failure).toMatchObject({ code: 'AGENT_OUT_OF_RESOURCES', owner: 'agent' });
    const denied = await run({ hostname: '169.254.169.254', port }, {}, shouldFail);
    expect(denied.failure).toMatchObject({ code: 'EGRESS_DENIED', owner: 'config' });
  });
});
