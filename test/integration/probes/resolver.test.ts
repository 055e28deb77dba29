import { describe, expect, it } from 'vitest';
import { literalAddress, usableFamily } from '../../../src/probes/address.ts';
import {
  type LookupTimes,
  ResolveError,
  type Resolver,
  resolveWanted,
  systemResolver,
} from '../../../src/probes/resolver.ts';

describe('the system resolver', () => {
  it('returns literals as they are, for any requested family', async () => {
    expect(await systemResolver.resolve('127.0.0.1', 6)).toEqual([{ address: '127.0.0.1', family: 4 }]);
    expect(await systemResolver.resolve('::1', 4)).toEqual([{ address: '::1', family: 6 }]);
    expect(literalAddress('localhost')).toBeUndefined();
  });

  it('knows /etc/hosts', async () => {
    expect(await systemResolver.resolve('localhost', 4)).toContainEqual({ address: '127.0.0.1', family: 4 });
  });

  it('reports that a name does not exist, or that the lookup failed', async () => {
    const error = await systemResolver
      .resolve('does-not-exist.invalid', 4)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ResolveError);
    const { kind, code, message } = error as ResolveError;
    expect(kind).toBe(code === 'ENOTFOUND' ? 'not-found' : 'unavailable');
    expect(message).toContain('does-not-exist.invalid');
  });
});

describe('the family to connect with', () => {
  it('is IPv4 if IPv6 is disabled, and only then', () => {
    expect(usableFamily(6, () => false)).toEqual({ family: 4, isFallback: true });
    expect(usableFamily(6, () => true)).toEqual({ family: 6, isFallback: false });
    expect(usableFamily(4, () => false)).toEqual({ family: 4, isFallback: false });
  });
});

describe('IPv4 first', () => {
  const notFound = new ResolveError('not-found', 'ENODATA', 'no IPv4 address');
  const away = new ResolveError('unavailable', 'EAI_AGAIN', 'nobody answered');
  /** Resolves to an address of those families, or throws that error; each lookup takes 2 ms on the wire. */
  function resolverOf(known: Partial<Record<4 | 6, true | ResolveError>>) {
    const asked: (4 | 6 | 'any')[] = [];
    const resolver: Resolver = {
      resolve(_hostname, family, { onMeasured } = {}) {
        asked.push(family);
        onMeasured?.({ elapsedMs: 2, lagMs: family === 6 ? 3 : 1, clock: family === 6 ? 'event' : 'kernel' });
        const answer = family === 'any' ? undefined : known[family];
        if (answer !== true || family === 'any') return Promise.reject(answer ?? notFound);
        return Promise.resolve([{ address: family === 6 ? '2001:db8::1' : '192.0.2.1', family }]);
      },
    };
    return { resolver, asked };
  }

  it('makes no further lookup if a name has an IPv4 address', async () => {
    const { resolver, asked } = resolverOf({ 4: true, 6: true });
    expect(await resolveWanted(resolver, 'both.test', 'ipv4-first')).toEqual([
      { address: '192.0.2.1', family: 4 },
    ]);
    expect(asked).toEqual([4]);
  });

  it('uses IPv6 if there is none, and counts both lookups', async () => {
    const { resolver, asked } = resolverOf({ 6: true });
    const measured: LookupTimes[] = [];
    const onMeasured = (times: LookupTimes) => void measured.push(times);
    const found = await resolveWanted(resolver, 'v6.test', 'ipv4-first', { onMeasured });
    expect(found).toEqual([{ address: '2001:db8::1', family: 6 }]);
    expect(asked).toEqual([4, 6]);
    expect(measured).toEqual([{ elapsedMs: 4, lagMs: 3, clock: 'event' }]);
  });

  it.each([
    ['a name without any address', {}, notFound],
    ['a resolver that fails at first', { 4: away, 6: true }, away],
    ['a resolver that fails then: nobody knows', { 6: away }, away],
  ] as const)('fails with %s', async (_what, known, error) => {
    await expect(resolveWanted(resolverOf(known).resolver, 'x.test', 'ipv4-first')).rejects.toBe(error);
  });

  it('keeps to one family if requested', async () => {
    const { resolver, asked } = resolverOf({ 4: true });
    await expect(resolveWanted(resolver, 'v4.test', 6)).rejects.toBe(notFound);
    expect(asked).toEqual([6]);
  });
});
