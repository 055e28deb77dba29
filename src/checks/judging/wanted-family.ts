import { usableFamily, type WantedFamily } from '@picket/probes/address.ts';
import { familyName, type IpFamilyName } from '../contract/ip-family.ts';
import type { RunLog } from '../contract/run-log.ts';

/** Returns the address family to resolve. Logs it if this location cannot use the family that the check wants. */
export function wantedFamily(ipFamily: IpFamilyName | null, log: RunLog): WantedFamily {
  if (ipFamily !== 'IPv6') return 'ipv4-first';
  const { family, isFallback } = usableFamily(6);
  if (isFallback) log.write('WARN', 'IPv6 is disabled at this location: the run used IPv4');
  return family;
}

/** Logs that a name had no address of the preferred family. */
export function logFamily(hostname: string, address: string | null, wanted: WantedFamily, log: RunLog): void {
  if (wanted !== 'ipv4-first' || familyName(address) !== 'IPv6' || hostname.includes(':')) return;
  log.write('INFO', `${hostname} has no IPv4 address: the run used IPv6`);
}
