import { describe, expect, it } from 'vitest';
import { literalAddress, usableFamily } from '../../../src/probes/address.ts';
import { ResolveError, systemResolver } from '../../../src/probes/resolver.ts';

describe('the system resolver', () => {
  it('answers literals as they are, whatever family is asked for', async () => {
    expect(await systemResolver.resolve('127.0.0.1', 6)).toEqual([{ address: '127.0.0.1', family: 4 }]);
    expect(await systemResolver.resolve('::1', 4)).toEqual([{ address: '::1', family: 6 }]);
    expect(literalAddress('localhost')).toBeUndefined();
  });

  it('knows /etc/hosts', async () => {
    expect(await systemResolver.resolve('localhost', 4)).toContainEqual({ address: '127.0.0.1', family: 4 });
  });

  it('says that a name does not exist, or that it could not find out', async () => {
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
  it('is IPv4 where IPv6 is switched off, and only there', () => {
    expect(usableFamily(6, () => false)).toEqual({ family: 4, isFallback: true });
    expect(usableFamily(6, () => true)).toEqual({ family: 6, isFallback: false });
    expect(usableFamily(4, () => false)).toEqual({ family: 4, isFallback: false });
  });
});
