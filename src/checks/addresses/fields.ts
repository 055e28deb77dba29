import { z } from 'zod';
import { ipFamilies } from '../contract/ip-family.ts';

/** Most addresses of a name that a run goes to. */
export const maxAddresses = 16;

/** To how many addresses of its name a run goes. */
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

/** What became of one address. */
export const AddressVerdict = z
  .object({
    /** Null where the name has none of that family. */
    address: z.string().nullable(),
    ipFamily: z.enum(ipFamilies),
    verdict: z.enum(['passed', 'degraded', 'failed']),
    /** Why it failed, as `failure` has it. */
    code: z.string().nullable(),
    message: z.string().nullable(),
    /** In milliseconds. */
    responseTime: z.number(),
    /** Whether a browser would use this one (RFC 8305): IPv6 has 250 ms to connect before IPv4 is tried as well. */
    isBrowsersChoice: z.boolean(),
  })
  .meta({ id: 'AddressVerdict' });
export type AddressVerdict = z.infer<typeof AddressVerdict>;

/** Of each address that a run went to, in the order of the answer; absent where it went to the first alone. */
export const AddressVerdicts = z.array(AddressVerdict).optional();
