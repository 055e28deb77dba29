import { customDomainOf } from '@picket/protocol/pages/page-fields.ts';
import { z } from 'zod';

/** Normalizes an entry of the setting for host-name comparison; undefined if it is not a valid entry. */
function entryOf(text: string): string | undefined {
  const [, wildcard = '', name = ''] = /^(\*\.)?(.+)$/.exec(text) ?? [];
  const host = customDomainOf(name);
  return host === undefined ? undefined : `${wildcard}${host}`;
}

const entries = (text: string) => text.split(/[\s,]+/).filter((entry) => entry !== '');

export const customDomainSettings = {
  CUSTOM_DOMAINS: z
    .string()
    .superRefine((text, context) => {
      for (const entry of entries(text)) {
        if (entryOf(entry) !== undefined) continue;
        const message = `"${entry}" is not a host name such as status.example.com or *.example.com`;
        context.addIssue({ code: 'custom', message });
      }
    })
    .default('')
    .meta({ defaultText: 'none' })
    .describe(
      'Custom domains that any account may use without proof in DNS, separated by commas or spaces: `status.example.com`, or `*.example.com` for every name below ([custom-domain.md](../how-to/custom-domain.md))',
    ),
};

/** Returns a predicate for the host names that the operator allows for pages. */
export function allowedDomains(setting: string): (host: string) => boolean {
  const allowed = entries(setting).flatMap((entry) => entryOf(entry) ?? []);
  const exact = new Set(allowed.filter((entry) => !entry.startsWith('*.')));
  const ends = allowed.filter((entry) => entry.startsWith('*.')).map((entry) => entry.slice(1));
  return (host) => exact.has(host) || ends.some((end) => host.endsWith(end));
}
