import { describe, expect, it } from 'vitest';
import { ExchangeTimes } from './exchange-times.ts';

/**
 * A complete exchange with the given connection timestamps.
 *
 * @param stamps.sentAfterMs delay between the start of the write and the departure of the request.
 * @param stamps.arrivedAfterMs delay between the start of the write and the response.
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

describe('the wait for an answer', () => {
  it('is what lies between its stamps', () => {
    expect(exchange({ sentAfterMs: 0.05, arrivedAfterMs: 20 }).hop().waitMs).toBeCloseTo(19.95, 6);
  });

  it.each([0.3, 0.03, 7])(
    'is not 0 when this side found out too late that it had sent: %f ms',
    (arrivedAfterMs) => {
      const { waitMs } = exchange({ sentAfterMs: arrivedAfterMs + 0.2, arrivedAfterMs }).hop();
      expect(waitMs).toBeCloseTo(Math.min(arrivedAfterMs, 0.1), 6);
    },
  );

  it('is as short as it is where the stamps say so', () => {
    expect(exchange({ sentAfterMs: 0.02, arrivedAfterMs: 0.2 }).hop().waitMs).toBeCloseTo(0.18, 6);
  });
});
