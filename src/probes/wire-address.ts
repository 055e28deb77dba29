import type { ResolvedAddress } from './resolver.ts';

/** The address that packets really carry: some stand for another one, which answers come from. */
export function wireAddress({ address, family }: ResolvedAddress): ResolvedAddress {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return wireAddress({ address: mapped, family: 4 });
  if (address === '0.0.0.0') return { address: '127.0.0.1', family: 4 };
  if (address === '::') return { address: '::1', family: 6 };
  return { address, family };
}
