import { z } from 'zod';
import { ipFamilies } from '../contract/ip-family.ts';
import { partVerdicts } from '../runner/part-of-run.ts';

/** Most addresses of a name that a run contacts. */
export const maxAddresses = 16;

/** How many addresses of its name a run contacts. */
export const AddressesField = z
  .enum(['first', 'every', 'bothFamilies'])
  .optional()
  .describe(
    `Addresses to check. first (default): one; every: all addresses of the name, at most ${maxAddresses}; bothFamilies: one IPv4 and one IPv6 address, regardless of ipFamily. The worst outcome counts`,
  );
export type Addresses = z.infer<typeof AddressesField>;

export const addressesWords = {
  label: 'Addresses to check',
  hint: 'With several addresses, the worst outcome counts. The run shows which address it was.',
  words: {
    '': 'the first',
    first: 'the first',
    every: `all, at most ${maxAddresses}`,
    bothFamilies: 'one IPv4 and one IPv6 address',
  },
} as const;

/** Result of one address. */
export const AddressVerdict = z
  .object({
    /** Null if the name has no address of that family. */
    address: z.string().nullable(),
    ipFamily: z.enum(ipFamilies),
    verdict: z.enum(partVerdicts),
    /** Failure code, as in `failure`. */
    code: z.string().nullable(),
    message: z.string().nullable(),
    /** In milliseconds. */
    responseTime: z.number(),
    /** Whether a browser would use this address (RFC 8305): IPv6 has 250 ms to connect before IPv4 is tried as well. */
    isBrowsersChoice: z.boolean(),
  })
  .meta({ id: 'AddressVerdict' });
export type AddressVerdict = z.infer<typeof AddressVerdict>;

/**
 * One entry for each address that the run contacted, in the order of the DNS response; absent if it contacted only the
 * first.
 */
export const AddressVerdicts = z.array(AddressVerdict).optional();
