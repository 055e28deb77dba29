import { networkInterfaces } from 'node:os';

/** Splits an address from its zone, with the index of that interface; undefined if this host has no such interface. */
export function splitZone(text: string): { readonly address: string; readonly scopeId: number | undefined } {
  const [address = '', zone] = text.split('%', 2);
  if (zone === undefined) return { address, scopeId: 0 };
  if (/^\d+$/.test(zone)) return { address, scopeId: Number(zone) };
  const addresses = networkInterfaces()[zone] ?? [];
  const scopes = addresses.flatMap((entry) => (entry.family === 'IPv6' ? (entry.scopeid ?? 0) : 0));
  return { address, scopeId: scopes.find((scope) => scope > 0) };
}
