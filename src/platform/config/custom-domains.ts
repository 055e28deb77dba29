import { customDomainOf } from '@picket/protocol/pages/page-fields.ts';
import { z } from 'zod';

/** The entries of the setting, in the form that host names are compared in; undefined for what is no entry. */
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

/** Whether the operator lets pages have a host name. */
export function allowedDomains(setting: string): (host: string) => boolean {
  const allowed = entries(setting).flatMap((entry) => entryOf(entry) ?? []);
  const exact = new Set(allowed.filter((entry) => !entry.startsWith('*.')));
  const ends = allowed.filter((entry) => entry.startsWith('*.')).map((entry) => entry.slice(1));
  return (host) => exact.has(host) || ends.some((end) => host.endsWith(end));
}
