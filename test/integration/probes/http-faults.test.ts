import { spawnSync } from 'node:child_process';
import { createSecureServer } from 'node:http2';
import type { Server } from 'node:net';
import { afterAll, describe, expect, it } from 'vitest';
import type { ProbeErrorKind, ProbePhase } from '../../../src/probes/connection/errors.ts';
import { proxyFromUrl } from '../../../src/probes/connection/forward-proxy.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import {
  type HostileBehaviour,
  hostileBehaviours,
  startHostileTarget,
  startSilentTarget,
} from '../../helpers/targets/hostile-target.ts';
import { probe } from '../../helpers/targets/http-request.ts';
import { startHttpTarget } from '../../helpers/targets/http-target.ts';
import { listen } from '../../helpers/targets/listening.ts';

const timeoutMs = 400;

interface Expected {
  readonly kind: ProbeErrorKind | null;
  readonly phase?: ProbePhase;
  readonly isTruncated?: boolean;
}

/** The expected failure for each hostile server; null where the response is usable. */
const expected: Readonly<Record<HostileBehaviour, Expected>> = {
  'never-answers': { kind: 'response-timeout', phase: 'firstByte' },
  'one-byte-per-interval': { kind: 'response-timeout', phase: 'firstByte' },
  'endless-headers': { kind: 'response-malformed', phase: 'firstByte' },
  'endless-header-line': { kind: 'response-malformed', phase: 'firstByte' },
  'endless-informational': { kind: 'response-timeout', phase: 'firstByte' },
  'endless-chunks': { kind: null, isTruncated: true },
  'endless-tiny-chunks': { kind: null, isTruncated: true },
  'endless-chunk-extension': { kind: 'response-malformed', phase: 'download' },
  'endless-chunk-extensions': { kind: null, isTruncated: true },
  'endless-trailers': { kind: 'response-malformed', phase: 'download' },
  'endless-status-line': { kind: 'response-malformed', phase: 'firstByte' },
  'endless-blank-lines': { kind: 'response-malformed', phase: 'firstByte' },
  'informational-flood': { kind: 'response-malformed', phase: 'firstByte' },
  'gzip-of-nothing': { kind: null, isTruncated: true },
  'trickling-chunks': { kind: 'response-timeout', phase: 'download', isTruncated: true },
  'huge-body': { kind: null, isTruncated: true },
  'gzip-bomb': { kind: null, isTruncated: true },
  'not-gzip': { kind: 'body-undecodable', phase: 'download' },
  'cut-gzip': { kind: 'body-undecodable', phase: 'download' },
  'reset-after-request': { kind: 'connection-reset', phase: 'firstByte' },
  'close-before-headers': { kind: 'connection-reset', phase: 'firstByte' },
  'close-inside-headers': { kind: 'connection-reset', phase: 'firstByte' },
  'close-inside-body': { kind: 'connection-reset', phase: 'download', isTruncated: true },
  'reset-inside-body': { kind: 'connection-reset', phase: 'download', isTruncated: true },
  garbage: { kind: 'response-malformed', phase: 'firstByte' },
  'http-0.9': { kind: 'response-malformed', phase: 'firstByte' },
  'conflicting-content-length': { kind: 'response-malformed', phase: 'firstByte' },
  'content-length-and-chunked': { kind: null, isTruncated: false },
  'content-lengths-in-one-line': { kind: 'response-malformed', phase: 'firstByte' },
  'negative-content-length': { kind: 'response-malformed', phase: 'firstByte' },
  // RFC 9112 section 6.3: the body then ends with the connection, and includes the chunk framing.
  'chunked-not-last': { kind: null, isTruncated: false },
  'space-before-colon': { kind: 'response-malformed', phase: 'firstByte' },
  'line-feeds-alone': { kind: null, isTruncated: false },
  'carriage-return-in-header': { kind: 'response-malformed', phase: 'firstByte' },
  'second-response': { kind: null, isTruncated: false },
  'malformed-chunk-size': { kind: 'response-malformed', phase: 'download' },
  'nul-in-header': { kind: 'response-malformed', phase: 'firstByte' },
  'folded-header': { kind: null, isTruncated: false },
  'unasked-upgrade': { kind: 'response-malformed', phase: 'firstByte' },
  'status-out-of-range': { kind: 'response-malformed', phase: 'firstByte' },
  'http-1.0': { kind: null, isTruncated: false },
};

describe('a peer that disconnects before it accepts the request', () => {
  it('is reported at once, and not dialled again', async () => {
    const authority = await createAuthority();
    const server = createSecureServer(await authority.issue());
    server.on('session', (session) => session.goaway());
    server.on('stream', (stream) => stream.on('error', () => stream.destroy()));
    const target = await listen(server as unknown as Server, { scheme: 'https' });
    const result = await probe(target.url, { timeoutMs: 20_000, isCertificateChecked: false });
    const connections = target.connectionCount();
    await target.close();
    expect(result.error).toMatchObject({ kind: 'connection-reset' });
    expect(connections).toBe(1);
  });
});

describe('a fully qualified host name', () => {
  it('goes into SNI without its trailing dot', async () => {
    const authority = await createAuthority();
    const asked: string[] = [];
    const server = createSecureServer({
      ...(await authority.issue()),
      SNICallback: (name, done) => {
        asked.push(name);
        done(null);
      },
    });
    const target = await listen(server as unknown as Server, { scheme: 'https' });
    const resolver = { resolve: async () => [{ address: target.host, family: 4 } as const] };
    await probe(`https://localhost.:${target.port}/`, {
      resolver,
      timeoutMs: 500,
      isCertificateChecked: false,
    });
    await target.close();
    expect(asked).toEqual(['localhost']);
  });
});

describe('a request that cannot be sent', () => {
  it.each([false, true])('is the check’s own fault, through a proxy or not: %s', async (isProxied) => {
    const target = await startHttpTarget();
    const result = await probe(target.url, {
      headers: ['bad name', 'x'],
      proxy: isProxied ? proxyFromUrl(new URL(target.url)) : undefined,
    });
    await target.close();
    expect(result.error?.kind).toBe('request-invalid');
  });
});

describe('a hostile server', () => {
  it.each(Object.keys(hostileBehaviours) as HostileBehaviour[])('%s', async (behaviour) => {
    const target = await startHostileTarget(behaviour);
    const { kind, phase, isTruncated } = expected[behaviour];
    // Cases without a deadline must end by themselves.
    const isDeadline = kind === 'response-timeout';
    const result = await probe(target.url, {
      timeoutMs: isDeadline ? timeoutMs : 20_000,
      maxBodyBytes: 1_000_000,
    });
    await target.close();
    expect(result.error?.kind ?? null).toBe(kind);
    if (phase) expect(result.error?.phase).toBe(phase);
    if (isTruncated !== undefined) expect(result.body.isTruncated).toBe(isTruncated);
    expect(result.body.bytes.length).toBeLessThanOrEqual(1_000_000);
    if (kind === null) expect(result.phases).toBeDefined();
    else expect(result.error?.message).toContain(target.host);
  });

  it('that speaks HTTP/1.0 is recognised', async () => {
    const target = await startHostileTarget('http-1.0');
    const { head, body } = await probe(target.url);
    await target.close();
    expect(head?.httpVersion).toBe('1.0');
    expect(body.bytes.toString()).toBe('old but fine');
  });

  it.each([
    ['a compressed body', 'gzip-bomb'],
    ['the smallest chunks', 'endless-tiny-chunks'],
    ['a body without end', 'huge-body'],
  ] as const)('cannot fill the memory with %s', (_what, behaviour) => {
    const script = `
      import { probe } from ${JSON.stringify(new URL('../../helpers/targets/http-request.ts', import.meta.url).href)};
      import { startHostileTarget } from ${JSON.stringify(new URL('../../helpers/targets/hostile-target.ts', import.meta.url).href)};
      const target = await startHostileTarget(${JSON.stringify(behaviour)});
      const warm = await probe(target.url, { maxBodyBytes: 100_000 });
      const before = process.resourceUsage().maxRSS;
      const result = await probe(target.url, { timeoutMs: 20_000 });
      console.log(JSON.stringify({
        length: result.body.bytes.length, isOverLimit: result.body.isOverLimit, error: result.error?.message,
        grownKilobytes: process.resourceUsage().maxRSS - before,
      }));
      process.exit();
    `;
    const child = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      encoding: 'utf8',
      // The synchronous wait also blocks the timeout of this test.
      ...{ timeout: 120_000, killSignal: 'SIGKILL' },
    });
    expect(child.signal, child.stderr).toBeNull();
    const found = JSON.parse(child.stdout);
    expect(found).toMatchObject({ isOverLimit: true });
    expect(found.error).toBeUndefined();
    // With the smallest chunks, the limit on wire bytes allows only a part.
    expect(found.length).toBeGreaterThan(15 * 1024 * 1024);
    expect(found.length).toBeLessThanOrEqual(25 * 1024 * 1024);
    // The cap, plus the needs of the server in the same process.
    expect(found.grownKilobytes).toBeLessThan(120 * 1024);
  });
});

describe('a deadline', () => {
  it('blames the response of a server that accepts and is silent', async () => {
    const target = await startSilentTarget();
    const { error } = await probe(target.url, { timeoutMs });
    await target.close();
    expect(error).toMatchObject({ kind: 'response-timeout', phase: 'firstByte' });
    expect(error?.message).toContain(
      `timed out after ${timeoutMs} ms while waiting for the response headers`,
    );
  });

  it('blames the TLS handshake of a silent server', async () => {
    const target = await startSilentTarget();
    const { error } = await probe(target.url.replace('http', 'https'), { timeoutMs });
    await target.close();
    expect(error).toMatchObject({ kind: 'connection-timeout', phase: 'tls' });
  });

  it('blames a silent resolver', async () => {
    const resolver = { resolve: () => new Promise<never>(() => undefined) };
    const { error } = await probe('http://slow.example/', { timeoutMs, resolver });
    expect(error).toMatchObject({ kind: 'resolver-unavailable', phase: 'dns' });
  });

  it('holds for a chain of redirects as a whole', async () => {
    const target = await startHttpTarget({
      routes: {
        slow: (_request, reply) => {
          setTimeout(() => {
            reply.writeHead(302, { location: '/slow' });
            reply.end();
          }, 150);
        },
      },
    });
    const { error, redirectCount } = await probe(`${target.url}/slow`, { timeoutMs });
    await target.close();
    expect(error?.kind).toBe('response-timeout');
    expect(redirectCount).toBeGreaterThanOrEqual(1);
  });
});

describe('an aborted probe', () => {
  const silent = startSilentTarget();
  afterAll(async () => (await silent).close());

  it('ends at once and says so', async () => {
    const target = await silent;
    const controller = new AbortController();
    const running = probe(target.url, { signal: controller.signal, timeoutMs: 60_000 });
    controller.abort(new Error('lease lost'));
    expect((await running).error?.kind).toBe('aborted');
  });

  it('does not even connect if it is aborted before', async () => {
    const target = await silent;
    const before = target.connectionCount();
    const { error } = await probe(target.url, { signal: AbortSignal.abort() });
    expect(error?.kind).toBe('aborted');
    expect(target.connectionCount()).toBe(before);
  });

  it('is a passed deadline if the signal says so', async () => {
    const target = await silent;
    const { error } = await probe(target.url, { signal: AbortSignal.timeout(100), timeoutMs: 60_000 });
    expect(error?.kind).toBe('response-timeout');
  });
});
