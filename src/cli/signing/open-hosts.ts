import { isRecord } from '@picket/lib/json/record.ts';
import { originOf } from '@picket/lib/wire/address-origin.ts';
import type { Fields } from '@picket/protocol/projects/kind.ts';

/** Fields of a request that say where it goes. */
const addressFields = ['url', 'hostname', 'nameServer'] as const;

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
    const address = request[name];
    if (typeof address !== 'string' || !address.includes('{{')) return [];
    return openVariables
      .filter(
        (variable) =>
          originOf(address, { [variable]: 'one.test' }) !== originOf(address, { [variable]: 'other.test' }),
      )
      .map((variable) => ({ field: `request.${name}`, variable }));
  });
}
