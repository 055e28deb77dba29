import { domainToASCII } from 'node:url';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';

/** A page's subdomain of the service's own domain; case-insensitive. */
export const PageUrl = lazySchema(() =>
  z
    .string()
    .regex(
      /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/,
      'must be 1 to 63 letters, digits or dashes, and neither begin nor end with a dash',
    ),
);

const hostName = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/;

/**
 * Normalizes a host name for storage and comparison: lower case, international names as Punycode, no trailing dot.
 * undefined if it is not a host name.
 */
export function customDomainOf(text: string): string | undefined {
  if (!/^[^\s/?#@:%\\]+$/.test(text)) return undefined;
  const host = domainToASCII(text.replace(/\.$/, '')).toLowerCase();
  return host.length <= 253 && hostName.test(host) ? host : undefined;
}

/** A page's host name in a domain of the account; "" means no such host name, for clients that cannot send null. */
export const CustomDomain = lazySchema(() =>
  z
    .string()
    .max(254)
    .refine(
      (text) => text === '' || customDomainOf(text) !== undefined,
      'must be a host name such as status.example.com',
    ),
);

/** Whether a page is served at its custom domain, and the required action. */
export const customDomainStatuses = ['PENDING', 'PROVEN', 'LOST'] as const;

export const CustomDomainState = lazySchema(() =>
  z
    .object({
      status: z
        .enum(customDomainStatuses)
        .describe(
          'PENDING: not verified yet; the page is not available there. PROVEN: verified. LOST: the proof is gone; the page stays available until `servesUntil`',
        ),
      method: z
        .enum(['TXT', 'CNAME', 'OPERATOR'])
        .nullable()
        .describe(
          'Method of the proof of ownership: a DNS record, or the setting CUSTOM_DOMAINS of the service',
        ),
      record: z
        .object({ type: z.literal('TXT'), name: z.string(), value: z.string() })
        .describe('The record that proves the domain'),
      cname: z
        .string()
        .nullable()
        .describe(
          'A CNAME record of the domain with this target also proves it; null if the service has no PUBLIC_URL',
        ),
      problem: z.string().nullable().describe('Finding of the last check'),
      checkedAt: z.iso.datetime().nullable(),
      servesUntil: z.iso
        .datetime()
        .nullable()
        .describe('If the proof is gone: when the page stops being available'),
    })
    .meta({ id: 'CustomDomainState' }),
);
export type CustomDomainState = z.output<typeof CustomDomainState.schema>;

/** Each check of a domain queries name servers of third parties. */
export const domainCheckLimit = { requests: 10, windowSeconds: 60 };

/** A URL that pages show or link to: never `javascript:` and the like. */
export const WebUrl = lazySchema(() =>
  z
    .string()
    .max(2048)
    .regex(/^(?:https?:\/\/\S+)?$/, 'must start with http:// or https://'),
);

/** A key of a private page. */
export const PageKey = lazySchema(() =>
  z.object({
    id: z.string(),
    rawKey: z.string().describe('The full key only in the response that creates it, masked afterwards'),
    maskedKey: z.string(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime().nullable(),
  }),
);
export type PageKey = z.output<typeof PageKey.schema>;

type Bare<Field> = Field extends z.ZodDefault<infer Inner> ? Inner : Field;
type PatchShape<Shape extends z.ZodRawShape> = {
  [Key in keyof Shape]: z.ZodOptional<Extract<Bare<Shape[Key]>, z.core.SomeType>>;
};

/** Schema of a partial update of an object: no field is required, and none has a default. */
export function patchOf<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<PatchShape<Shape>> {
  const fields = Object.entries(shape).map(([name, field]) => {
    const inner = field instanceof z.ZodDefault ? field.unwrap() : field;
    return [name, z.optional(inner)];
  });
  return z.object(Object.fromEntries(fields)) as unknown as z.ZodObject<PatchShape<Shape>>;
}
