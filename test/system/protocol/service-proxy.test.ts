import { createServer, request as requestOf, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { Stage } from '../../helpers/agent/stage.ts';
import { until } from '../../helpers/picket-process.ts';
import { startRealProxy, whyNoRealProxies } from '../../helpers/targets/real-proxies.ts';

type Manner = (pass: () => void, answer: { refuse(status: number): void; hangUp(): void }) => void;

const proxies: Server[] = [];
afterEach(async () => {
  for (const proxy of proxies.splice(0)) {
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  }
});

/** A forward proxy with a given behaviour; it receives requests in absolute form, and CONNECT. */
async function startProxy(manner: Manner): Promise<{ url: string; connects: string[] }> {
  const connects: string[] = [];
  const proxy = createServer((request, response) => {
    const pass = () => {
      const { host: _, ...headers } = request.headers;
      const onward = requestOf(request.url ?? '', { method: request.method ?? 'GET', headers }, (answer) => {
        // Buffers: nothing is passed on before the response is complete.
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () => {
          if (response.destroyed) return;
          response.writeHead(answer.statusCode ?? 502, { 'content-type': 'application/json' });
          response.end(Buffer.concat(chunks));
        });
      });
      onward.on('error', () => response.destroy());
      response.on('close', () => onward.destroy());
      request.pipe(onward);
    };
    manner(pass, {
      refuse: (status) => response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>no</h1>'),
      hangUp: () => response.destroy(),
    });
  });
  proxy.on('connect', (request, socket: Socket) => {
    connects.push(request.url ?? '');
    socket.on('error', () => undefined);
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  proxies.push(proxy);
  const { port } = proxy.address() as AddressInfo;
  return { url: `http://user:opensesame@127.0.0.1:${port}`, connects };
}

describe('a proxy between agent and service', () => {
  it('that requires other credentials is reported in the log, without the configured ones, and retried', async () => {
    await using stage = await Stage.open();
    let refusals = 2;
    const { url } = await startProxy((pass, { refuse }) => {
      refusals -= 1;
      if (refusals >= 0) refuse(407);
      else pass();
    });
    const agent = stage.startAgent({ HTTP_PROXY: url });
    expect(String((await agent.logged('failed to claim work')).reason)).toContain('407');
    await agent.logged('connected to the service');
    expect(agent.stdout + agent.stderr).not.toContain('opensesame');
  });

  it('that closes waiting connections and buffers responses costs nothing but new polls', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    const { url } = await startProxy((pass, { hangUp }) => {
      pass();
      setTimeout(hangUp, 700).unref();
    });
    const agent = stage.startAgent({ HTTP_PROXY: url });
    await agent.logged('connected to the service');
    for (let count = 0; count < 3; count += 1) {
      const run = leasedRun(target.url());
      service.enqueue(run);
      const result = await service.waitFor('the result', () => service.resultOf(run.runId));
      expect(result.failure).toBeNull();
    }
    expect(new Set(service.results.map(({ resultId }) => resultId)).size).toBe(service.results.length);
  });

  it('that refuses a tunnel leaves the agent unready, with the reason, and is retried now and then', async () => {
    await using stage = await Stage.open();
    const { url, connects } = await startProxy((_pass, { refuse }) => refuse(500));
    const startedAtMs = performance.now();
    const agent = stage.startAgent({ SERVICE_URL: 'https://service.invalid', HTTPS_PROXY: url });
    const line = await agent.logged('failed to claim work');
    expect(String(line.reason)).toMatch(/403|tunnel|proxy/i);
    await until('it asked five times', () => connects.length >= 5, { timeoutMs: 30_000 });
    expect(connects[0]).toBe('service.invalid:443');
    // At least 50 ms after the previous one; a busy loop would poll at once.
    expect(performance.now() - startedAtMs).toBeGreaterThan(4 * 50);
    expect(agent.stdout + agent.stderr).not.toContain('opensesame');
  });
});

const missing = whyNoRealProxies();
describe.skipIf(missing !== null)(
  `a SOCKS5 proxy between agent and service${missing ? ` (${missing})` : ''}`,
  () => {
    const login = { user: 'agent', password: 'opensesame' };
    const urlOf = (proxy: { readonly url: string }, password: string) =>
      proxy.url.replace('//', `//${login.user}:${password}@`);

    it('carries everything, with credentials', async () => {
      await using proxy = await startRealProxy('microsocks', login);
      await using stage = await Stage.open();
      const { service, target } = stage;
      const agent = stage.startAgent({ ALL_PROXY: urlOf(proxy, login.password) });
      await agent.logged('connected to the service');
      const run = leasedRun(target.url());
      service.enqueue(run);
      const result = await service.waitFor('the result', () => service.resultOf(run.runId));
      expect(result.failure).toBeNull();
      // The agent calls through the proxy and through nothing else.
      await proxy[Symbol.asyncDispose]();
      await agent.logged('failed to claim work');
    });

    it('that requires other credentials is reported, without the configured ones; NO_PROXY goes past it', async () => {
      await using proxy = await startRealProxy('microsocks', login);
      await using stage = await Stage.open();
      const wrong = urlOf(proxy, 'closebarley');
      const agent = stage.startAgent({ ALL_PROXY: wrong });
      const { reason } = await agent.logged('failed to claim work');
      expect(String(reason)).toContain('it rejects the username or password');
      expect(agent.stdout + agent.stderr).not.toContain('closebarley');
      const other = stage.startAgent({ all_proxy: wrong, NO_PROXY: '127.0.0.0/8' });
      await other.logged('connected to the service');
    });
  },
);
