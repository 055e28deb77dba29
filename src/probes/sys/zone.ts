import { networkInterfaces } from 'node:os';

/** An address without its zone, and the number of that interface; undefined when this host has none of that name. */
export function splitZone(text: string): { readonly address: string; readonly scopeId: number | undefined } {
  const [address = '', zone] = text.split('%', 2);
  if (zone === undefined) return { address, scopeId: 0 };
  if (/^\d+$/.test(zone)) return { address, scopeId: Number(zone) };
  const addresses = networkInterfaces()[zone] ?? [];
  const scopes = addresses.flatMap((entry) => (entry.family === 'IPv6' ? (entry.scopeid ?? 0) : 0));
  return { address, scopeId: scopes.find((scope) => scope > 0) };
}
