import { describe, expect, it } from 'vitest';
import type { RunContext } from '../../../src/checks/contract/run-context.ts';
import { NtpDetail } from '../../../src/checks/ntp/detail.ts';
import { loadRunner } from '../../../src/checks/ntp/run.ts';
import { NtpSpec } from '../../../src/checks/ntp/spec.ts';
import { summaryOf } from '../../../src/checks/ntp/summary.ts';
import { msBetweenStamps, readAnswer, requestPacket, stampOf } from '../../../src/probes/ntp/packet.ts';
import { runContext } from '../../helpers/run-context.ts';
import { ntpPacket, startNtpTarget } from '../../helpers/targets/ntp-target.ts';

async function run(request: object, rest: object = {}, context: Partial<RunContext> = {}) {
  const spec = NtpSpec.parse({
    ...rest,
    request: { hostname: '127.0.0.1', attemptTimeoutMs: 5000, ...request },
  });
  const outcome = await (await loadRunner())(spec, runContext({ timeoutMs: 30_000, ...context }));
  expect(NtpDetail.parse(outcome.detail)).toEqual(outcome.detail);
  return outcome;
}

describe('an NTP monitor', () => {
  it('reports what the server says, and the difference of the clocks', async () => {
    await using target = await startNtpTarget({ rootDelayMs: 20, rootDispersionMs: 3, leap: 1 });
    const { failure, detail, responseTimeMs } = await run({ port: target.port });
    expect(failure).toBeUndefined();
    const time = detail.response?.time;
    expect(time).toMatchObject({ version: 4, leap: 'insert', stratum: 2, kissCode: null });
    expect(time).toMatchObject({ referenceId: '192.0.2.123', precisionMs: 1000 / 2 ** 20 });
    expect(time?.rootDelayMs).toBeCloseTo(20, 1);
    expect(time?.errorBoundMs).toBeGreaterThan(10 + 3 - 0.1 + (time?.roundTripMs ?? 0) / 2);
    expect(Math.abs(time?.offsetMs ?? Number.NaN)).toBeLessThan(100);
    expect(Math.abs(Date.parse(time?.referenceTime ?? '') - Date.now() + 60_000)).toBeLessThan(10_000);
    expect(detail.response?.timingPhases.total).toBe(responseTimeMs);
    expect(target.received).toEqual([expect.objectContaining({ length: 48 })]);
    expect(target.received[0]?.[0]).toBe(0x23);
    // Apart from its random identification, a request says nothing about this host.
    expect(target.received[0]?.subarray(1, 40)).toEqual(Buffer.alloc(39));
  });

  it.each([
    [-3000, 'behind'],
    [3000, 'ahead of'],
  ])(
    'judges an offset of %d ms in either direction, without the time of the server',
    async (offsetMs, side) => {
      await using target = await startNtpTarget({ offsetMs, servedMs: 400 });
      const { failure, detail } = await run({ port: target.port });
      expect(failure).toMatchObject({ code: 'ASSERTION_FAILED', owner: 'target' });
      expect(failure?.message).toMatch(new RegExp(` ${side} the clock of the agent, more than 1000 ms$`));
      const waitMs = detail.response?.timingPhases.wait ?? Number.NaN;
      expect(detail.response?.time?.roundTripMs).toBeCloseTo(Math.max(0, waitMs - 400), 2);
      const degraded = await run({ port: target.port }, { maxOffsetMs: null });
      expect(degraded).toMatchObject({ failure: undefined, isDegraded: true });
      expect(degraded.detail.degradedReasons[0]).toContain('more than 100 ms');
      const any = await run({ port: target.port }, { maxOffsetMs: null, degradedOffsetMs: null });
      expect(any).toMatchObject({ failure: undefined, isDegraded: false });
    },
  );

  it.each([
    [{ stratum: 0, leap: 3, reference: Buffer.from('RATE') }, 'asks too often (RATE)', 'RATE'],
    [{ stratum: 0, leap: 3, reference: Buffer.from('XKCD') }, 'no reason that RFC 5905 lists (XKCD)', 'XKCD'],
    [{ stratum: 0, leap: 3, reference: Buffer.alloc(4) }, 'unsynchronized, stratum 0', null],
    [{ stratum: 16 }, 'leap indicator none, stratum 16', null],
    [{ leap: 3 }, 'unsynchronized, stratum 2', null],
  ])('fails with %j', async (behaviour, words, kissCode) => {
    await using target = await startNtpTarget(behaviour);
    const { failure, detail } = await run({ port: target.port });
    expect(failure).toMatchObject({ code: 'REQUEST_REFUSED', message: expect.stringContaining(words) });
    expect(detail.response?.time?.kissCode).toBe(kissCode);
    // One answer is enough: a server that is asked too often gets no second request.
    expect(target.received).toHaveLength(1);
    const welcome = await run({ port: target.port }, { shouldFail: true });
    expect(welcome.failure).toBeUndefined();
  });

  it('accepts only the answer to its own request', async () => {
    const forged = Buffer.alloc(8, 1);
    await using target = await startNtpTarget({
      offsetMs: 9000,
      change: (packet) => Buffer.concat([packet.subarray(0, 24), forged, packet.subarray(32)]),
    });
    const { failure, detail } = await run({ port: target.port, attempts: 2, attemptTimeoutMs: 100 });
    expect(failure).toMatchObject({ code: 'RESPONSE_TIMEOUT' });
    expect(failure?.message).toContain('2 requests were sent; ignored 2 answers to other requests');
    expect(detail.response).toMatchObject({ time: null, sentCount: 2, ignoredCount: 2 });
  });

  it('asks again after a lost datagram, with another identification', async () => {
    await using target = await startNtpTarget((number) => (number > 1 ? {} : undefined));
    const { failure, detail } = await run({ port: target.port, attempts: 3, attemptTimeoutMs: 200 });
    expect(failure).toBeUndefined();
    expect(detail.response?.sentCount).toBe(2);
    const [first, second] = target.received.map((packet) => packet.toString('hex'));
    expect(first).not.toBe(second);
  });

  it('compares its values with assertions', async () => {
    await using target = await startNtpTarget({ stratum: 1, reference: Buffer.from('GPS\0') });
    const holds = [
      { source: 'STRATUM', comparison: 'EQUALS', target: '1' },
      { source: 'OFFSET', comparison: 'LESS_THAN', target: '1000' },
      { source: 'JSON_RESPONSE', property: '$.referenceId', comparison: 'EQUALS', target: 'GPS' },
    ];
    expect((await run({ port: target.port, assertions: holds })).failure).toBeUndefined();
    const fails = [{ source: 'OFFSET', comparison: 'GREATER_THAN', target: '1000' }];
    expect((await run({ port: target.port, assertions: fails })).failure?.code).toBe('ASSERTION_FAILED');
  });

  it('shows the offset first', async () => {
    await using target = await startNtpTarget({ offsetMs: -3000 });
    const { detail } = await run({ port: target.port });
    expect(summaryOf(detail).sections[0]?.facts?.[0]?.value).toMatch(
      /^(2\.9\d|3(\.0\d)?) s behind the agent$/,
    );
  });
});

describe('NTP timestamps', () => {
  it('are right across the end of the era in 2036', () => {
    const beforeMs = Date.UTC(2036, 1, 7, 6, 28, 15);
    expect(stampOf(beforeMs) >> 32n).toBe(0xffff_ffffn);
    expect(stampOf(beforeMs + 1000) >> 32n).toBe(0n);
    expect(msBetweenStamps(stampOf(beforeMs), stampOf(beforeMs + 1500))).toBeCloseTo(1500, 3);
    expect(msBetweenStamps(stampOf(beforeMs + 1500), stampOf(beforeMs))).toBeCloseTo(-1500, 3);
  });

  it.each([
    ['too short', (packet: Buffer) => packet.subarray(0, 47)],
    ['from a client', (packet: Buffer) => Buffer.concat([Buffer.from([0x23]), packet.subarray(1)])],
    ['of version 7', (packet: Buffer) => Buffer.concat([Buffer.from([0x3c]), packet.subarray(1)])],
    ['without a time', (packet: Buffer) => Buffer.concat([packet.subarray(0, 40), Buffer.alloc(8)])],
  ])('are not read from a packet %s', (_what, change) => {
    const nonce = Buffer.from('12345678');
    expect(readAnswer(change(ntpPacket(requestPacket(nonce))), nonce)).toBe('not-ntp');
  });
});
