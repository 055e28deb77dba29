import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../src/lib/clock.ts';
import { readServiceConfig } from '../../../src/platform/config/config.ts';
import { type RunningService, startService } from '../../../src/server/service.ts';
import type { RunRow } from '../../../src/service/runs/tables.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import { quietLogger, temporaryFolder, until } from '../../helpers/service/service.ts';

const key = 'bootstrap-key-of-the-tests';
let folder: ReturnType<typeof temporaryFolder>;
let service: RunningService;
let isClosed = false;

const start = (leaseTtlMs: number, clock?: Clock) =>
  startService({
    config: readServiceConfig({
      PORT: '0',
      HOST: '127.0.0.1',
      DATA_DIR: folder.path,
      BOOTSTRAP_API_KEY: key,
    }),
    logger: quietLogger,
    leaseTtlMs,
    ...(clock === undefined ? {} : { clock }),
  });

beforeEach(async () => {
  folder = temporaryFolder();
  isClosed = false;
  service = await start(60_000);
});
afterEach(async () => {
  if (!isClosed) await service.close();
  folder.remove();
});

// biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
async function call(method: string, path: string, body?: unknown, credential = key): Promise<any> {
  const response = await fetch(service.address + path, {
    method,
    headers: {
      authorization: `Bearer ${credential}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return text === '' ? { status: response.status } : JSON.parse(text);
}

async function createLocation(slugName = 'lab'): Promise<{ id: string; key: string; keyId: string }> {
  const made = await call('POST', '/v1/private-locations', { name: slugName, slugName });
  return { id: made.id, key: made.keys[0].rawKey, keyId: made.keys[0].id };
}

const isRefused = (address: string) =>
  fetch(`${address}/-/liveness`).then(
    () => false,
    () => true,
  );

/** Queues a run directly, as the scheduler would, and notifies the polls. */
async function enqueue(locationId: string, count = 1): Promise<string[]> {
  const check = await call('POST', '/v1/checks/url', { name: 'x', request: { url: 'http://x.test' } });
  const account = (await service.store.accounts.first())?.id ?? '';
  const now = Date.now();
  const rows = Array.from({ length: count }, (_, index): RunRow => {
    const id = crypto.randomUUID();
    return {
      id,
      account_id: account,
      check_id: check.id,
      check_type: 'URL',
      lane: 'probe',
      location_id: locationId,
      location: 'lab',
      slot_location: 'lab',
      slot_at: now + index,
      slot_count: 1,
      slot_interval_ms: null,
      state: 'queued',
      reason: null,
      attempt: 0,
      freshness_ms: 360_000,
      ready_at: now,
      expires_at: now + 360_000,
      lease_number: 0,
      lease_until: null,
      agent_id: null,
      session_id: null,
      claim_number: null,
      deaths: 0,
      first_leased_at: null,
      last_result_id: null,
      runtime_id: null,
      sequence_id: id,
      check_run_id: now * 1000 + index,
      created: now,
      ended: null,
      ended_day: 0,
      check_session_id: null,
      test_session_id: null,
    };
  });
  await service.store.runs.insert(rows);
  service.store.signals.send([{ kind: 'queued', locationId, lane: 'probe', checkType: 'URL', count }]);
  return rows.map(({ check_id }) => check_id);
}

function claimBody(fields: object = {}) {
  return {
    agentId: 'agent',
    sessionId: crypto.randomUUID(),
    version: '8.0.0',
    platform: 'test',
    checkTypes: ['URL'],
    freeSlots: { probe: 5 },
    waitMs: 20_000,
    ...fields,
  };
}

/** Sends a claim over a raw socket, to be broken off. */
async function claimOverSocket(locationKey: string, fields: object = {}): Promise<Socket> {
  const { port } = new URL(service.address);
  const socket = connect(Number(port), '127.0.0.1');
  const body = JSON.stringify(claimBody(fields));
  socket.write(
    `POST /v1/agent/claims HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${locationKey}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  return socket;
}

const agentsSeen = async (locationId: string) =>
  (await service.store.locations.agents([locationId], 0)).length;

describe('a poll that waits', () => {
  it('gets a run as soon as one exists', async () => {
    // A clock that stands still: the interval after which a poll looks by itself never passes.
    await service.close();
    service = await start(60_000, new ManualClock(Date.now() + 60_000));
    const location = await createLocation();
    const answer = call('POST', '/v1/agent/claims', claimBody(), location.key);
    await until('the poll waits', async () => (await agentsSeen(location.id)) === 1);
    await enqueue(location.id);
    expect((await answer).runs).toHaveLength(1);
  });

  it('gets a run with the current settings of its location', async () => {
    const location = await createLocation();
    const answer = call('POST', '/v1/agent/claims', claimBody(), location.key);
    await until('the poll waits', async () => (await agentsSeen(location.id)) === 1);
    const proxyUrl = 'http://proxy.test:3128';
    await call('PUT', `/v1/private-locations/${location.id}`, { proxyUrl });
    await enqueue(location.id);
    expect((await answer).runs[0].location).toEqual({ name: 'lab', proxyUrl });
  });

  it('delivers a cancellation at once, once, and to its session only', async () => {
    const location = await createLocation();
    const body = claimBody();
    const [checkId] = await enqueue(location.id);
    const { runs } = await call('POST', '/v1/agent/claims', body, location.key);
    const runIds = runs.map(({ runId }: { runId: string }) => runId);
    expect(runIds).toHaveLength(1);
    const waiting = call('POST', '/v1/agent/claims', body, location.key);
    const other = call('POST', '/v1/agent/claims', claimBody({ waitMs: 1_000 }), location.key);
    await until('both polls wait', async () => (await agentsSeen(location.id)) === 2);
    await call('DELETE', `/v1/checks/${checkId}`);
    expect(await waiting).toMatchObject({ runs: [], cancelledRunIds: runIds });
    expect((await other).cancelledRunIds).toEqual([]);
    const next = await call('POST', '/v1/agent/claims', { ...body, waitMs: 0 }, location.key);
    expect(next.cancelledRunIds).toEqual([]);
  });

  it('is answered empty when its time is over', async () => {
    const location = await createLocation();
    const answer = await call('POST', '/v1/agent/claims', claimBody({ waitMs: 50 }), location.key);
    expect(answer).toMatchObject({ runs: [], cancelledRunIds: [], leaseTtlMs: 60_000 });
  });

  it('takes only runs that fit: lane, type and number', async () => {
    const location = await createLocation();
    await enqueue(location.id, 3);
    const claim = (fields: object) =>
      call('POST', '/v1/agent/claims', claimBody({ waitMs: 0, ...fields }), location.key);
    expect((await claim({ checkTypes: ['API'] })).runs).toEqual([]);
    expect((await claim({ checkTypes: [] })).runs).toEqual([]);
    expect((await claim({ freeSlots: { script: 5 } })).runs).toEqual([]);
    expect((await claim({ freeSlots: { probe: 2 } })).runs).toHaveLength(2);
    expect((await claim({})).runs).toHaveLength(1);
  });

  it('takes no run of a type without free slots, and keeps that type on offer', async () => {
    const location = await createLocation();
    await enqueue(location.id, 2);
    const claim = (fields: object) =>
      call('POST', '/v1/agent/claims', claimBody({ waitMs: 0, ...fields }), location.key);
    expect((await claim({ fullCheckTypes: ['URL'] })).runs).toEqual([]);
    const [agent] = await service.store.locations.agents([location.id], 0);
    expect(agent?.check_types).toBe('["URL"]');
    expect((await claim({})).runs).toHaveLength(2);
  });

  it('leases nothing after its caller hung up', async () => {
    const location = await createLocation();
    const socket = await claimOverSocket(location.key);
    await until('the poll waits', async () => (await agentsSeen(location.id)) === 1);
    socket.destroy();
    await enqueue(location.id);
    const taken = await until('another agent gets the run', async () => {
      const answer = await call('POST', '/v1/agent/claims', claimBody({ waitMs: 100 }), location.key);
      return answer.runs[0];
    });
    expect(taken.leaseNumber).toBeLessThanOrEqual(2);
    const [row] = await service.store.runs.ofCheck(taken.check.id);
    expect(row).toMatchObject({ state: 'leased', deaths: 0, agent_id: 'agent' });
  });

  it('loses no run to callers that hang up at any moment', async () => {
    await service.close();
    service = await start(1_000);
    const location = await createLocation();
    const [checkId = ''] = await enqueue(location.id, 50);
    for (let round = 0; round < 40; round += 1) {
      const socket = await claimOverSocket(location.key, { agentId: 'gone', freeSlots: { probe: 3 } });
      await new Promise((resolve) => setTimeout(resolve, round % 8));
      socket.resetAndDestroy();
    }
    // Runs of a response that had already been sent are lost as with a lost agent; all other runs can be claimed again.
    const rows = await until('no run is stuck', async () => {
      await call(
        'POST',
        '/v1/agent/claims',
        claimBody({ waitMs: 0, freeSlots: { probe: 50 } }),
        location.key,
      );
      const all = await service.store.runs.ofCheck(checkId);
      const isSettled = all.every((run) => run.state === 'missed' || run.agent_id === 'agent');
      return isSettled && all;
    });
    expect(rows).toHaveLength(50);
    for (const run of rows.filter(({ state }) => state === 'missed')) {
      expect(run).toMatchObject({ reason: 'agent-lost', deaths: 1 });
    }
  });

  it('has what it was leased queued again as soon as the agent says that its answer never came', async () => {
    const location = await createLocation();
    await enqueue(location.id, 4);
    const session = claimBody({ waitMs: 0, freeSlots: { probe: 2 } });
    const claim = (fields: object) =>
      call('POST', '/v1/agent/claims', { ...session, ...fields }, location.key);
    const held = await claim({ claimNumber: 1 });
    // The test reads this response, but the next agent has not seen it: a proxy received it and broke.
    const unseen = await claim({ claimNumber: 2 });
    expect(unseen.runs).toHaveLength(2);
    const other = { ...session, sessionId: crypto.randomUUID(), claimNumber: 3, lostClaims: [1, 2] };
    expect((await call('POST', '/v1/agent/claims', other, location.key)).runs).toEqual([]);
    const again = await claim({ claimNumber: 3, lostClaims: [2] });
    const ids = (answer: { runs: { runId: string }[] }) => answer.runs.map(({ runId }) => runId);
    expect(ids(again)).toEqual(ids(unseen));
    expect(again.runs.map(({ leaseNumber }: { leaseNumber: number }) => leaseNumber)).toEqual([2, 2]);
    const rows = await service.store.runs.ofCheck(again.runs[0].check.id);
    expect(rows.filter(({ state, deaths }) => state === 'leased' && deaths === 0)).toHaveLength(4);
    expect(rows.filter((row) => ids(held).includes(row.id) && row.lease_number === 1)).toHaveLength(2);
  });

  it('ends when the key it came with is revoked', async () => {
    const location = await createLocation();
    const answer = call('POST', '/v1/agent/claims', claimBody(), location.key);
    await until('the poll waits', async () => (await agentsSeen(location.id)) === 1);
    await call('DELETE', `/v1/private-locations/${location.id}/keys/${location.keyId}?force=true`);
    await enqueue(location.id);
    expect((await answer).runs).toEqual([]);
    expect(await call('POST', '/v1/agent/claims', claimBody(), location.key)).toMatchObject({
      statusCode: 401,
    });
  });

  it('ends if its agent let a lease expire; the run goes to another agent', async () => {
    await service.close();
    service = await start(1_000);
    const location = await createLocation();
    await enqueue(location.id);
    const silent = { agentId: 'silent', sessionId: crypto.randomUUID() };
    const first = await call('POST', '/v1/agent/claims', claimBody({ ...silent, waitMs: 0 }), location.key);
    expect(first.runs).toHaveLength(1);
    const openPoll = call('POST', '/v1/agent/claims', claimBody(silent), location.key);
    await until('the poll waits', async () => (await agentsSeen(location.id)) === 1);
    expect((await openPoll).runs).toEqual([]);
    const other = await call('POST', '/v1/agent/claims', claimBody({ agentId: 'other' }), location.key);
    expect(other.runs).toMatchObject([{ runId: first.runs[0].runId, leaseNumber: 2 }]);
  });

  it('is answered empty when the service shuts down', async () => {
    const location = await createLocation();
    const answer = call('POST', '/v1/agent/claims', claimBody(), location.key);
    await until('the poll waits', async () => (await agentsSeen(location.id)) === 1);
    isClosed = true;
    await service.close();
    expect(await answer).toMatchObject({ runs: [] });
  });

  it('closes the connection of a request that ends while the service shuts down', async () => {
    const body = JSON.stringify({ name: 'branch', slugName: 'branch' });
    const socket = connect(Number(new URL(service.address).port), '127.0.0.1');
    let answer = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      answer += text;
    });
    const head = `POST /v1/private-locations HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`;
    socket.write(`${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`);
    await once(socket, 'connect');
    // A response on another connection shows that the service has read this one's request.
    await createLocation();
    isClosed = true;
    const closed = service.close();
    await until('no new connection is accepted', () => isRefused(service.address));
    const ended = once(socket, 'close');
    socket.write(body);
    // Its default timeout for idle connections is 75 s.
    await expect(Promise.race([closed, systemClock.sleep(60_000).then(() => 'still open')])).resolves.toBe(
      undefined,
    );
    await ended;
    expect(answer).toContain('HTTP/1.1 201');
  });

  it('shares the runs of a location among its agents', async () => {
    const location = await createLocation();
    const answers = Array.from({ length: 10 }, (_, index) =>
      call(
        'POST',
        '/v1/agent/claims',
        claimBody({ agentId: `agent-${index}`, freeSlots: { probe: 1 } }),
        location.key,
      ),
    );
    await until('all polls wait', async () => (await agentsSeen(location.id)) === 10);
    await enqueue(location.id, 10);
    const claimed = (await Promise.all(answers)).map(({ runs }) => runs.length);
    expect(claimed).toEqual(Array(10).fill(1));
  });
});

describe('bytes that are not a request', () => {
  it('get an error in the common shape', async () => {
    const { port } = new URL(service.address);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write('NONSENSE\r\n\r\n');
    let text = '';
    for await (const chunk of socket) text += chunk;
    expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(JSON.parse(text.split('\r\n\r\n')[1] ?? '')).toMatchObject({
      statusCode: 400,
      error: 'Bad Request',
    });
  });
});
