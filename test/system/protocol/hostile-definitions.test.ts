import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunOrder } from '../../../src/agent/run/contracts.ts';
import { ProbePool } from '../../../src/agent/runners/probe/probe-pool.ts';
import { wholeReport } from '../../../src/agent/scrub/report-texts.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLogger } from '../../../src/lib/log.ts';
import type { ResultReport } from '../../../src/protocol/agent/agent.ts';

const mebibyte = 2 ** 20;
const bodies: Readonly<Record<string, () => string>> = {
  '/backtrack': () => JSON.stringify({ a: `${'a'.repeat(40)}!` }),
  '/elements': () => JSON.stringify(Array.from({ length: 5000 }, () => 1)),
  '/objects': () => JSON.stringify(Array.from({ length: 1_000_000 }, (_, id) => ({ id }))),
  '/empty-objects': () => `[${'{},'.repeat(8 * mebibyte)}{}]`,
  '/deep': () => `${'['.repeat(8 * mebibyte)}${']'.repeat(8 * mebibyte)}`,
  '/id': () => '{"id":9007199254740993}',
};
const server = createServer((request, response) => {
  response.setHeader('content-type', 'application/json');
  response.end(bodies[request.url ?? '']?.() ?? '{}');
});
let pool: ProbePool;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  pool = new ProbePool({
    clock: systemClock,
    log: createLogger('test', 'silent'),
    ownSecrets: [],
    serviceOffsetMs: () => 0,
    threadCount: 1,
    maxHeapMb: 256,
  });
  await pool.start();
});
afterAll(async () => {
  await pool.stop();
  server.close();
});

async function run(path: string, assertion: object, request: object = {}): Promise<ResultReport> {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  const assertions = [{ source: 'JSON_BODY', property: '', comparison: 'NOT_NULL', ...assertion }];
  const order: RunOrder = {
    runId: crypto.randomUUID(),
    leaseNumber: 1,
    resultId: crypto.randomUUID(),
    checkType: 'API',
    spec: { request: { url, assertions, ...request } },
    input: {
      variables: Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`V${index}`, 'x'])),
      secretNames: [],
      proxyUrl: null,
      clientCertificates: [],
    },
    receivedAtMs: systemClock.monotonicMs(),
  };
  const { report } = await pool.run(order, new AbortController().signal);
  return JSON.parse(wholeReport(report)) as ResultReport;
}

const loops = `${'{{#each @root}}'.repeat(8)}x${'{{/each}}'.repeat(8)}`;

describe('a definition or a response that would never end', () => {
  it.each<[string, string, object, string | undefined, object?]>([
    [
      'a JSON path with a regular expression',
      '/backtrack',
      { property: "$[?search(@, '(a*)*b')]" },
      'ASSERTION_TOO_COSTLY',
    ],
    ['a JSON path that multiplies', '/deep', { property: `$${'[*,*]'.repeat(25)}` }, 'ASSERTION_TOO_COSTLY'],
    ['a JSON path that counts', '/elements', { property: '$[?count($..*)<0]' }, 'ASSERTION_FAILED'],
    [
      'a JSON path that counts for each',
      '/elements',
      { property: '$[?count($[?@==$[0]&&count($.*)<@])<0]' },
      'ASSERTION_FAILED',
    ],
    [
      'a regular expression',
      '/backtrack',
      { source: 'TEXT_BODY', property: '(a+)+b' },
      'ASSERTION_TOO_COSTLY',
    ],
    [
      'a million objects',
      '/objects',
      { property: '$[*]', comparison: 'CONTAINS', target: '"id"' },
      undefined,
    ],
    [
      'a million objects as a target',
      '/objects',
      { comparison: 'EQUALS', target: '[1]' },
      'ASSERTION_FAILED',
    ],
    ['millions of empty objects', '/empty-objects', {}, 'ASSERTION_TOO_COSTLY'],
    ['a template', '/id', {}, 'TEMPLATE_INVALID', { headers: [{ key: 'a', value: loops }] }],
    [
      'no digits lost',
      '/id',
      { property: '$.id', comparison: 'EQUALS', target: '9007199254740992' },
      'ASSERTION_FAILED',
    ],
  ])('ends, and affects no other run: %s', async (_what, path, assertion, code, request) => {
    const neighbour = run('/id', { property: '$.id', comparison: 'EQUALS', target: '9007199254740993' });
    const { failure } = await run(path, assertion, request);
    expect(failure?.code).toBe(code);
    if (code !== undefined && code !== 'ASSERTION_FAILED') expect(failure?.owner).toBe('config');
    expect((await neighbour).failure).toBeNull();
    expect(pool.replacedCount).toBe(0);
  });
});
