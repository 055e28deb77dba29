import { z } from 'zod';
import { type KeyRole, keyRoles } from '../ids/keys.ts';

/** The settings of single sign-on. */
export const oidcSettings = {
  OIDC_ISSUER: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .optional()
    .meta({ defaultText: 'none' })
    .describe(
      'OpenID Connect issuer for single sign-on. Its redirect URI is `PUBLIC_URL/login/sso/callback`',
    ),
  OIDC_CLIENT_ID: z
    .string()
    .min(1)
    .optional()
    .meta({ defaultText: 'none' })
    .describe('Client id at the issuer'),
  OIDC_CLIENT_SECRET: z
    .string()
    .min(1)
    .optional()
    .meta({ secret: true, defaultText: 'none' })
    .describe('Client secret at the issuer; without it the client is public'),
  OIDC_NAME: z
    .string()
    .min(1)
    .max(60)
    .default('single sign-on')
    .describe('Name of the issuer on the login page'),
  OIDC_SCOPES: z.string().min(1).default('openid email profile').describe('Scopes to request'),
  OIDC_EMAIL_CLAIM: z.string().min(1).default('email').describe('Claim with the mail address'),
  OIDC_UNVERIFIED_MAIL: z
    .enum(['refuse', 'trust'])
    .default('refuse')
    .describe(
      'How to treat mail addresses that the issuer does not mark as verified. trust: only if users cannot choose their address themselves',
    ),
  OIDC_GROUPS_CLAIM: z.string().min(1).default('groups').describe('Claim with the groups of a user'),
  OIDC_ROLES: z
    .string()
    .superRefine((text, context) => {
      for (const message of roleProblems(text)) context.addIssue({ code: 'custom', message });
    })
    .default('')
    .meta({ defaultText: 'none' })
    .describe(
      'Roles by group, the first match wins: `ops=ADMIN,dev=READ_WRITE,*=READ_ONLY`. Members of these groups need no invitation. Each login updates the role',
    ),
  OIDC_DOMAINS: z
    .string()
    .default('')
    .meta({ defaultText: 'none: invited users only' })
    .describe('Mail domains whose users need no invitation, separated by commas'),
  OIDC_ACCOUNT: z
    .uuid()
    .optional()
    .meta({ defaultText: 'the first account' })
    .describe('Account of users who join without an invitation'),
};

/** Parses `ops=ADMIN,*=READ_ONLY`; skips invalid entries, which `roleProblems` reports. */
export function rolesOf(text: string): [group: string, role: KeyRole][] {
  return listOfWords(text).flatMap((entry) => {
    const at = entry.lastIndexOf('=');
    const role = keyRoles.find((one) => one === entry.slice(at + 1));
    return at > 0 && role ? [[entry.slice(0, at), role] as [string, KeyRole]] : [];
  });
}

/** Returns the problems of the text of OIDC_ROLES. */
function roleProblems(text: string): string[] {
  return listOfWords(text)
    .filter((entry) => rolesOf(entry).length === 0)
    .map((entry) => `"${entry}" is not GROUP=ROLE with a role of ${keyRoles.join(', ')}`);
}

export const listOfWords = (text: string) => text.split(/[\s,]+/).filter((entry) => entry !== '');
