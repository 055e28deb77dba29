import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { ServiceConnection } from './service-connection.ts';

const noProxy = { https: undefined, http: undefined, all: undefined, except: undefined };
const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** A connection to a service that answers like that. */
async function connected(answer: RequestListener): Promise<ServiceConnection> {
  const server: Server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const serviceUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const access = { serviceUrl, apiKey: 'pl_0123456789abcdef', proxy: noProxy };
  const connection = new ServiceConnection(access, { version: '1.0.0', maxAnswerBytes: 1000 });
  ends.push(async () => {
    await connection.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return connection;
}

const request = { path: '/v1/agent/claims', method: 'POST', body: '{"a":1}' } as const;

it('reads a response in pieces as one text', async () => {
  const whole = Buffer.from('{"name":"Zürich"}');
  // In the middle of a character.
  const cut = whole.indexOf(0xc3) + 1;
  const connection = await connected((asked, response) => {
    asked.resume();
    response.writeHead(200, { 'x-seen': asked.headers['content-length'] });
    response.write(whole.subarray(0, cut));
    setImmediate(() => response.end(whole.subarray(cut)));
  });
  const answer = await connection.exchange(request).answer;
  expect(answer).toMatchObject({ statusCode: 200, text: whole.toString() });
  expect(answer.headers['x-seen']).toBe(String(request.body.length));
});

it('an informational response is not the answer', async () => {
  const connection = await connected((_asked, response) => {
    response.writeProcessing();
    response.writeHead(503).end('later');
  });
  expect(await connection.exchange(request).answer).toMatchObject({ statusCode: 503, text: 'later' });
});

it.each(['before its head', 'in its body'])('is stopped %s', async (place) => {
  const reached = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const connection = await connected((asked, response) => {
    asked.socket.on('close', () => closed.resolve());
    if (place === 'in its body') {
      response.writeHead(200).flushHeaders();
      response.write('begun');
    }
    reached.resolve();
  });
  const exchange = connection.exchange(request);
  const failed = expect(exchange.answer).rejects.toThrow('enough');
  await reached.promise;
  exchange.stop(new Error('enough'));
  exchange.stop(new Error('the first reason counts'));
  await failed;
  await closed.promise;
});

it('is stopped before it has begun', async () => {
  const connection = await connected(() => undefined);
  const exchange = connection.exchange(request);
  exchange.stop(new Error('enough'));
  await expect(exchange.answer).rejects.toThrow('enough');
});

it('rejects when the connection breaks, and when the response is too large', async () => {
  const broken = await connected((asked) => asked.socket.resetAndDestroy());
  await expect(broken.exchange(request).answer).rejects.toThrow();
  const large = await connected((_asked, response) => response.end('x'.repeat(1001)));
  await expect(large.exchange(request).answer).rejects.toMatchObject({
    code: 'UND_ERR_RES_EXCEEDED_MAX_SIZE',
  });
});
