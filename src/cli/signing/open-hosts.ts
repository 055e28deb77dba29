import { isRecord } from '@picket/lib/json/record.ts';
import { originOf } from '@picket/lib/wire/address-origin.ts';
import type { Fields } from '@picket/protocol/projects/kind.ts';

/** Fields of a request that say where it goes. */
const addressFields = [
  'url',
  'hostname',
  'nameServer',
  'nameServers',
  'rdapServer',
  'rdapDirectory',
] as const;

/** A field whose host comes from a variable that others may set. */
export interface OpenHost {
  readonly field: string;
  readonly variable: string;
}

/** Returns the addresses of a request whose host depends on one of the given variables. */
export function openHosts(fields: Fields, openVariables: readonly string[]): OpenHost[] {
  const { request } = fields;
  if (!isRecord(request)) return [];
  return addressFields.flatMap((name) => {
    const addresses = [request[name]]
      .flat()
      .filter((one): one is string => typeof one === 'string' && one.includes('{{'));
    return openVariables
      .filter((variable) => addresses.some((address) => isDecidedBy(address, variable)))
      .map((variable) => ({ field: `request.${name}`, variable }));
  });
}

function isDecidedBy(address: string, variable: string): boolean {
  return originOf(address, { [variable]: 'one.test' }) !== originOf(address, { [variable]: 'other.test' });
}
