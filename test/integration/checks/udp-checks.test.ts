import { describe, expect, it } from 'vitest';
import { isSpoilt } from '../../../src/agent/runners/lag/starvation.ts';
import type { RunContext } from '../../../src/checks/contract/run-context.ts';
import { UdpDetail } from '../../../src/checks/udp/detail.ts';
import { runUdp } from '../../../src/checks/udp/run.ts';
import { UdpSpec } from '../../../src/checks/udp/spec.ts';
import { runContext } from '../../helpers/run-context.ts';
import { closedPort } from '../../helpers/targets/tcp-target.ts';
import { startUdpTarget, udpAnswers } from '../../helpers/targets/udp-target.ts';

async function run(request: object, rest: object = {}, context: Partial<RunContext> = {}) {
  const spec = UdpSpec.parse({ ...rest, request: { hostname: '127.0.0.1', ...request } });
  const outcome = await runUdp(spec, runContext({ timeoutMs: 30_000, ...context }));
  expect(UdpDetail.parse(outcome.detail)).toEqual(outcome.detail);
  return outcome;
}
const assertion = (comparison: string, target = '', property = '') => ({
  source: 'RESPONSE_DATA',
  ...{ comparison, target, property },
});
const patient = { attemptTimeoutMs: 5000 };
const hasty = { attempts: 2, attemptTimeoutMs: 100 };

describe('a UDP monitor', () => {
  it('sends its data with templates filled in, and judges the reply', async () => {
    await using target = await startUdpTarget(udpAnswers.echo);
    const { failure, detail, responseTimeMs } = await run(
      {
        ...patient,
        port: target.port,
        data: 'hello {{NAME}}',
        assertions: [assertion('EQUALS', 'hello Ada'), assertion('EQUALS', 'Ada', 'hello (\\w+)')],
      },
      {},
      { variables: { NAME: 'Ada' } },
    );
    expect(failure).toBeUndefined();
    expect(target.received.map(String)).toEqual(['hello Ada']);
    expect(detail.response).toMatchObject({
      ...{ data: 'hello Ada', sizeBytes: 9, truncated: false, sentCount: 1 },
      ...{ ipAddress: '127.0.0.1', ipFamily: 'IPv4' },
    });
    const { dns, wait, total } = detail.response?.timingPhases ?? { dns: 0, wait: 0, total: 0 };
    expect(wait).toBeGreaterThan(0);
    expect(total).toBeCloseTo(dns + wait, 2);
    expect(responseTimeMs).toBe(total);
  });

  it('accepts hexadecimal digits', async () => {
    await using target = await startUdpTarget(udpAnswers.binary);
    const request = { ...patient, port: target.port, dataFormat: 'HEX', data: 'FF fe 00' };
    const { failure, detail } = await run({ ...request, assertions: [assertion('CONTAINS', 'ff80')] });
    expect(failure).toBeUndefined();
    expect(target.received).toEqual([Buffer.from([0xff, 0xfe, 0])]);
    expect(detail.response?.data).toBe('00ff800a');
  });

  it('retransmits without a reply, and reports it', async () => {
    await using target = await startUdpTarget(udpAnswers['second-time']);
    const { failure, detail } = await run({
      port: target.port,
      data: 'x',
      attempts: 5,
      attemptTimeoutMs: 100,
    });
    expect(failure).toBeUndefined();
    expect(detail.response?.sentCount).toBeGreaterThan(1);
    expect(target.received.length).toBeGreaterThan(1);
  });

  it.each([
    ['nothing at all', udpAnswers.empty, '', 0, false],
    ['as much as a datagram can carry', udpAnswers.largest, 'xxx', 65_507, false],
  ] as const)('takes %s', async (_what, answer, start, sizeBytes, truncated) => {
    await using target = await startUdpTarget(answer);
    const { failure, detail } = await run({ ...patient, port: target.port });
    expect(failure).toBeUndefined();
    expect(detail.response).toMatchObject({ sizeBytes, truncated });
    expect(detail.response?.data?.startsWith(start)).toBe(true);
    expect(target.received[0]).toHaveLength(0);
  });

  it('detects that the port is closed', async () => {
    const { failure, detail } = await run({ ...patient, port: await closedPort(), data: 'x' });
    expect(failure).toMatchObject({ code: 'CONNECTION_REFUSED', owner: 'target' });
    expect(detail.response).toMatchObject({ sentCount: 1, sizeBytes: null });
  });

  it('attributes silence to the target, with the number of requests', async () => {
    await using target = await startUdpTarget(udpAnswers.silent);
    const { failure, detail } = await run({ ...hasty, port: target.port });
    expect(failure).toMatchObject({ code: 'RESPONSE_TIMEOUT', owner: 'target' });
    expect(failure?.message).toContain('sent 2 times');
    expect(detail.response?.sentCount).toBe(2);
  });

  it('attributes silence to the target while it retransmits: two busy cores do not blame the agent', async () => {
    await using target = await startUdpTarget(udpAnswers.silent);
    const startMs = performance.now();
    const silent = await run({ port: target.port, attempts: 3, attemptTimeoutMs: 300 });
    const durationMs = performance.now() - startMs;
    expect(silent.failure?.code).toBe('RESPONSE_TIMEOUT');
    // A reply to any of the three would have been received.
    expect(silent.measurement?.waitedMs).toBeGreaterThanOrEqual(890);
    // Late by at most a quarter of a second, but for two thirds of the total time, as with two CPU burners.
    const lateness = { lagMs: 60, awayMs: (durationMs * 2) / 3, durationMs };
    expect(isSpoilt(silent, lateness)).toBe(false);
    // An agent that was stalled for most of the time could not have received a reply.
    expect(isSpoilt(silent, { ...lateness, lagMs: 600 })).toBe(true);
  });

  it('also attributes the time of an earlier reply to the target', async () => {
    await using target = await startUdpTarget((data, number) => (number === 1 ? data : undefined));
    const { measurement } = await run({
      ...{ port: target.port, attempts: 2, attemptTimeoutMs: 200 },
      steps: [{ data: 'a' }, { data: 'b' }],
    });
    expect(measurement?.waitedMs).toBeGreaterThanOrEqual(390);
  });

  it('that expects no reply passes only on silence and on a closed port', async () => {
    await using silent = await startUdpTarget(udpAnswers.silent);
    await using echo = await startUdpTarget(udpAnswers.echo);
    const should = { shouldFail: true };
    expect((await run({ ...hasty, port: silent.port }, should)).failure).toBeUndefined();
    expect((await run({ ...patient, port: await closedPort() }, should)).failure).toBeUndefined();
    expect((await run({ ...patient, port: echo.port }, should)).failure?.code).toBe('REPLY_UNEXPECTED');
    const unknown = await run({ hostname: 'nobody.invalid', port: 9 }, should);
    expect(unknown.failure?.code).toBe('NAME_NOT_FOUND');
  });

  it('works with IPv6 addresses', async () => {
    await using target = await startUdpTarget(udpAnswers.echo, '::1');
    const { failure, detail } = await run({ ...patient, hostname: '::1', port: target.port, data: 'six' });
    expect(failure).toBeUndefined();
    expect(detail.response).toMatchObject({ data: 'six', ipFamily: 'IPv6' });
  });

  it('refuses more data than fits into a datagram', async () => {
    const { failure } = await run(
      { port: 9, data: '{{LONG}}' },
      {},
      { variables: { LONG: 'x'.repeat(65_508) } },
    );
    expect(failure).toMatchObject({ code: 'REQUEST_INVALID', owner: 'config' });
  });

  // Like game servers, which reply only to clients that have proved their address.
  const query = [
    { data: 'ff ff ff ff 54', regex: '^ffffffff41(?<challenge>.{8})$' },
    { data: 'ff ff ff ff 54 {{challenge}}', text: 'ffffffff49' },
  ];

  it('runs step by step, with values of earlier replies', async () => {
    await using target = await startUdpTarget(udpAnswers.challenge);
    const { failure, detail } = await run({
      ...{ ...patient, port: target.port, dataFormat: 'HEX', steps: query },
      assertions: [assertion('CONTAINS', Buffer.from('Picket').toString('hex'))],
    });
    expect(failure).toBeUndefined();
    expect(detail.steps).toMatchObject([
      { state: 'DONE', sentCount: 1, answer: 'ffffffff410a0b0c0d' },
      { state: 'DONE', sentCount: 1 },
    ]);
    const [first, second] = detail.steps ?? [];
    const { dns = 0, wait = 0 } = detail.response?.timingPhases ?? {};
    expect(dns).toBeGreaterThanOrEqual(0);
    expect((first?.waitMs ?? 0) + (second?.waitMs ?? 0)).toBeCloseTo(wait, 2);
  });

  it('reports the failed step, and the actual reply', async () => {
    await using target = await startUdpTarget(udpAnswers.challenge);
    const [begin] = query;
    const steps = [begin, { data: 'ff ff ff ff 54 00 00 00 00', text: 'ffffffff49' }, { data: '00' }];
    const { failure, detail } = await run({ ...hasty, port: target.port, dataFormat: 'HEX', steps });
    expect(failure).toMatchObject({ code: 'DIALOGUE_FAILED', owner: 'target' });
    expect(failure?.message).toContain('Step 2: expected ffffffff49, received ffffffff410a0b0c0d');
    expect(detail.steps?.map(({ state }) => state)).toEqual(['DONE', 'FAILED', 'NOT_REACHED']);
  });

  it('reports the step without a reply', async () => {
    await using target = await startUdpTarget(udpAnswers.silent);
    const { failure } = await run({ ...hasty, port: target.port, steps: [{ data: 'a' }, { data: 'b' }] });
    expect(failure).toMatchObject({ code: 'RESPONSE_TIMEOUT', owner: 'target' });
    expect(failure?.message).toMatch(/^Step 1: .*sent 2 times/);
  });

  it('refuses a datagram that a reply made unsendable', async () => {
    await using target = await startUdpTarget(udpAnswers.challenge);
    const steps = [{ data: 'ff ff ff ff 54', regex: '(?<odd>.)$' }, { data: '{{odd}}' }];
    const { failure } = await run({ ...patient, port: target.port, dataFormat: 'HEX', steps });
    expect(failure).toMatchObject({ code: 'REQUEST_INVALID', owner: 'config' });
  });

  it('attributes an expectation that a reply made unusable to the definition', async () => {
    await using target = await startUdpTarget(udpAnswers.echo);
    const steps = [
      { data: 'word', regex: '(?<word>\\w+)' },
      { data: 'x', text: '{{moment word}}' },
    ];
    const { failure } = await run({ ...patient, port: target.port, steps });
    expect(failure).toMatchObject({ code: 'REQUEST_INVALID', owner: 'config' });
    expect(failure?.message).toMatch(/^Step 2: /);
  });

  it('ends when the run is stopped', async () => {
    await using target = await startUdpTarget(udpAnswers.silent);
    const stop = new AbortController();
    const running = run({ ...patient, port: target.port }, {}, { signal: stop.signal });
    await expect.poll(() => target.received.length).toBe(1);
    stop.abort();
    expect((await running).failure?.code).toBe('RUN_ABORTED');
  });
});
