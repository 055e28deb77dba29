import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  createLocation,
  openHarness,
  type ServiceHarness,
  TestAgent,
  type TestLocation,
  until,
} from '../../helpers/service/service.ts';

let harness: ServiceHarness;
let other: { accountId: string; key: string };
let port: number;

beforeAll(async () => {
  harness = await openHarness();
  other = await harness.addAccount();
  const address = await harness.app.listen({ port: 0, host: '127.0.0.1' });
  port = Number(new URL(address).port);
});
afterAll(() => harness.close());

const makeCheck = async (name: string, key = harness.key, tags: string[] = []): Promise<string> => {
  const body = { name, tags, request: { url: 'http://x.test' } };
  return (await harness.call('POST', '/v1/checks/url', body, { key })).body.id;
};

/** A request over a connection that the caller can close. */
function requestAndHangUp(method: string, path: string, body: string): { hangUp(): void } {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(
    `${method} ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${harness.key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  return { hangUp: () => socket.destroy() };
}

it('serves the report and the public page of an account before an earlier overview of another one', async () => {
  const ids = await Promise.all(Array.from({ length: 60 }, (_, number) => makeCheck(`heavy ${number}`)));
  await makeCheck('light', other.key, ['shown']);
  await harness.call(
    'POST',
    '/v1/dashboards',
    { header: 'Board', tags: ['shown'], customUrl: 'fair-board' },
    { key: other.key },
  );
  const ended: string[] = [];
  const note = (what: string, answer: Promise<{ status: number }>) =>
    answer.then(({ status }) => ended.push(`${what} ${status}`));
  const body = { checkIds: ids, quickRange: 'last30Days' };
  const overviews = Array.from({ length: 8 }, () =>
    note('overview', harness.call('POST', '/v1/analytics/checks', body)),
  );
  await until('the overviews wait', async () => harness.analytics.figures().waiting > 100);
  await Promise.all([
    note('report', harness.call('GET', '/v1/reporting', undefined, { key: other.key })),
    note('page', harness.call('GET', '/v1/public/dashboards/fair-board', undefined, { key: null })),
    ...overviews,
  ]);
  expect(ended.slice(0, 2).sort()).toEqual(['page 200', 'report 200']);
  expect(ended.slice(2)).toEqual(Array(8).fill('overview 200'));
});

it('drops waiting analytics queries when their caller hangs up', async () => {
  const ids = await Promise.all(Array.from({ length: 100 }, (_, number) => makeCheck(`gone ${number}`)));
  const before = harness.analytics.figures();
  const body = JSON.stringify({ checkIds: ids, quickRange: 'last30Days' });
  const requests = Array.from({ length: 8 }, () => requestAndHangUp('POST', '/v1/analytics/checks', body));
  await until('they wait', async () => harness.analytics.figures().waiting > 100);
  for (const request of requests) request.hangUp();
  const after = await until('nothing waits', async () => {
    const figures = harness.analytics.figures();
    return figures.waiting === 0 && figures;
  });
  expect(after.dropped - before.dropped).toBeGreaterThan(100);
});

it('refuses the claims of a location beyond its limit, and serves those of others', async () => {
  const [crowded, quiet] = [await createLocation(harness, 'crowded'), await createLocation(harness, 'quiet')];
  const claim = (location: TestLocation, number: number, waitMs: number) => {
    const agent = new TestAgent(harness, location, `agent-${number}`);
    return agent.call('claims', agent.claimBody({ waitMs }));
  };
  const ended: string[] = [];
  const crowd = Array.from({ length: 1_010 }, async (_, number) => {
    const { status, headers } = await claim(crowded, number, 20_000);
    ended.push(`crowd ${status} ${headers['retry-after'] ?? ''}`);
  });
  await until('some are refused', async () => ended.length === 10);
  ended.push(`quiet ${(await claim(quiet, 1, 0)).status}`);
  harness.ledger.drain();
  await Promise.all(crowd);
  expect(ended.slice(0, 11)).toEqual([...Array(10).fill('crowd 429 5'), 'quiet 200']);
  expect(ended.slice(11)).toEqual(Array(1_000).fill('crowd 200 '));
});
