import { describe, expect, it } from 'vitest';
import { ExchangeTimes } from './exchange-times.ts';

/**
 * An exchange whose request was written and whose response arrived, by the timestamps of a connection.
 *
 * @param stamps.sentAfterMs time from the start of the write until the request seems to have left.
 * @param stamps.arrivedAfterMs time from the start of the write until the response arrived.
 */
function exchange(stamps: { readonly sentAfterMs: number; readonly arrivedAfterMs: number }) {
  let beforeMs = 0;
  const times = new ExchangeTimes({
    times: { dnsMs: 0, tcpMs: 1, proxyMs: 0, startTlsMs: 0, tlsMs: 0 },
    receivedBytes: 0,
    isSending: false,
    beforeSending: () => undefined,
    sentSince: () => beforeMs + stamps.sentAfterMs,
    arrivalAfter: () => beforeMs + stamps.arrivedAfterMs,
    arrivalOf: () => beforeMs + stamps.arrivedAfterMs,
  });
  times.begin();
  beforeMs = performance.now();
  times.sending.onSent(beforeMs);
  times.recordFirstByte();
  times.recordEnd();
  times.finish({ isWhole: true });
  return times;
}

describe('the wait for a response', () => {
  it('is the time between its timestamps', () => {
    expect(exchange({ sentAfterMs: 0.05, arrivedAfterMs: 20 }).hop().waitMs).toBeCloseTo(19.95, 6);
  });

  it.each([0.3, 0.03, 7])('is not 0 if this side noticed its sending too late: %f ms', (arrivedAfterMs) => {
    const { waitMs } = exchange({ sentAfterMs: arrivedAfterMs + 0.2, arrivedAfterMs }).hop();
    expect(waitMs).toBeCloseTo(Math.min(arrivedAfterMs, 0.1), 6);
  });

  it('is as short as the timestamps say', () => {
    expect(exchange({ sentAfterMs: 0.02, arrivedAfterMs: 0.2 }).hop().waitMs).toBeCloseTo(0.18, 6);
  });
});
