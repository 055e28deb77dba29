import { z } from 'zod';
import { ipFamilies } from '../contract/ip-family.ts';

/** Most addresses of a name that a run goes to. */
export const maxAddresses = 16;

/** To how many addresses of its name a run goes. */
export const AddressesField = z
  .enum(['first', 'every', 'bothFamilies'])
  .optional()
  .describe(
    `first (when absent): one, as ever; every: each one that the name has, ${maxAddresses} at most; bothFamilies: one of IPv4 and one of IPv6, whatever ipFamily says. The run is as bad as the worst of them`,
  );
export type Addresses = z.infer<typeof AddressesField>;

export const addressesWords = {
  label: 'Addresses of the name',
  hint: 'With more than one, the run is as bad as the worst of them, and says which that is.',
  words: {
    '': 'the first',
    first: 'the first',
    every: `every one, ${maxAddresses} at most`,
    bothFamilies: 'one of IPv4 and one of IPv6',
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
