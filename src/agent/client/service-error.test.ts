import { describe, expect, it } from 'vitest';
import { kindOfStatus, parseRetryAfter, retryDelayMs, ServiceError } from './service-error.ts';

describe('the meaning of a response', () => {
  it.each([
    [401, 'refused'],
    [403, 'refused'],
    [400, 'rejected'],
    [404, 'rejected'],
    [302, 'rejected'],
    [413, 'rejected'],
    [429, 'busy'],
    [407, 'unreachable'],
    [500, 'unreachable'],
    [502, 'unreachable'],
    [503, 'unreachable'],
  ] as const)('%i is %s', (status, kind) => {
    expect(kindOfStatus(status, undefined)).toBe(kind);
  });

  it('503 with Retry-After is busy', () => {
    expect(kindOfStatus(503, 1000)).toBe('busy');
  });
});

describe('a response that is not from the service', () => {
  it.each([
    ['a page', { httpStatus: 404 }, true],
    ['a redirect', { httpStatus: 302 }, true],
    ['the service itself', { httpStatus: 404, isServiceBody: true }, false],
    ['a body that is wrong', { httpStatus: 400 }, false],
    ['no answer', {}, false],
  ] as const)('%s', (_, details, isFromElsewhere) => {
    expect(new ServiceError('rejected', '', details).isFromElsewhere).toBe(isFromElsewhere);
  });
});

describe('Retry-After', () => {
  it('reads seconds, and dates relative to the clock of the response', () => {
    expect(parseRetryAfter('7', undefined)).toBe(7000);
    expect(parseRetryAfter('Fri, 01 Jan 2100 00:00:10 GMT', 'Fri, 01 Jan 2100 00:00:00 GMT')).toBe(10_000);
  });

  it('is bounded, and ignored when it cannot be parsed', () => {
    expect(parseRetryAfter('999999999', undefined)).toBe(600_000);
    expect(parseRetryAfter('Fri, 01 Jan 2100 00:00:00 GMT', 'Fri, 01 Jan 2100 00:01:00 GMT')).toBe(0);
    expect(parseRetryAfter('soon', undefined)).toBeUndefined();
    expect(parseRetryAfter(undefined, undefined)).toBeUndefined();
  });
});

describe('retryDelayMs', () => {
  const delays = (error: ServiceError) =>
    Array.from({ length: 500 }, (_, index) => retryDelayMs(error, index % 20));

  it('is never a busy loop, and at most four seconds while the service is unavailable', () => {
    const all = delays(new ServiceError('unreachable', ''));
    expect(Math.min(...all)).toBeGreaterThanOrEqual(50);
    expect(Math.max(...all)).toBeLessThanOrEqual(4000);
  });

  it('is slow when the key is refused or the request is wrong', () => {
    for (const kind of ['refused', 'rejected'] as const) {
      const all = delays(new ServiceError(kind, ''));
      expect(Math.min(...all)).toBeGreaterThanOrEqual(5000);
      expect(Math.max(...all)).toBeLessThanOrEqual(60_000);
    }
  });

  it.each([404, 405, 410, 421, 302])('is short after %i: the name points elsewhere for now', (httpStatus) => {
    const all = delays(new ServiceError('rejected', '', { httpStatus }));
    expect(Math.max(...all)).toBeLessThanOrEqual(4000);
  });

  it('is never before Retry-After', () => {
    const all = delays(new ServiceError('busy', '', { retryAfterMs: 3000 }));
    expect(Math.min(...all)).toBeGreaterThanOrEqual(3000);
  });
});
