import { z } from 'zod';
import { type KeyRole, keyRoles } from '../ids/keys.ts';

/** The settings of single sign-on. */
export const oidcSettings = {
  OIDC_ISSUER: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .optional()
    .meta({ defaultText: 'none' })
    .describe(
      'Issuer of OpenID Connect that people log in by. It sends them back to `PUBLIC_URL/login/sso/callback`',
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
    .describe('Client secret at the issuer; without it the client is a public one'),
  OIDC_NAME: z
    .string()
    .min(1)
    .max(60)
    .default('single sign-on')
    .describe('What the issuer is called on the login page'),
  OIDC_SCOPES: z.string().min(1).default('openid email profile').describe('Scopes that are asked for'),
  OIDC_EMAIL_CLAIM: z.string().min(1).default('email').describe('Claim that holds the mail address'),
  OIDC_UNVERIFIED_MAIL: z
    .enum(['refuse', 'trust'])
    .default('refuse')
    .describe(
      'What an address is worth that the issuer does not call verified. trust: only where people cannot choose it themselves',
    ),
  OIDC_GROUPS_CLAIM: z.string().min(1).default('groups').describe('Claim that lists the groups of somebody'),
  OIDC_ROLES: z
    .string()
    .superRefine((text, context) => {
      for (const message of roleProblems(text)) context.addIssue({ code: 'custom', message });
    })
    .default('')
    .meta({ defaultText: 'none' })
    .describe(
      'Roles by group, the first that fits: `ops=ADMIN,dev=READ_WRITE,*=READ_ONLY`. Groups named here need no invitation; roles follow them at each login, up and down',
    ),
  OIDC_DOMAINS: z
    .string()
    .default('')
    .meta({ defaultText: 'none: only who is invited' })
    .describe('Mail domains whose people need no invitation, separated by commas'),
  OIDC_ACCOUNT: z
    .uuid()
    .optional()
    .meta({ defaultText: 'the first account' })
    .describe('Account that people without an invitation come into'),
};

/** `ops=ADMIN,*=READ_ONLY`; entries that are none are left out, `roleProblems` names them. */
export function rolesOf(text: string): [group: string, role: KeyRole][] {
  return listOfWords(text).flatMap((entry) => {
    const at = entry.lastIndexOf('=');
    const role = keyRoles.find((one) => one === entry.slice(at + 1));
    return at > 0 && role ? [[entry.slice(0, at), role] as [string, KeyRole]] : [];
  });
}

/** What is wrong with the text of OIDC_ROLES. */
function roleProblems(text: string): string[] {
  return listOfWords(text)
    .filter((entry) => rolesOf(entry).length === 0)
    .map((entry) => `"${entry}" is not GROUP=ROLE with a role of ${keyRoles.join(', ')}`);
}

export const listOfWords = (text: string) => text.split(/[\s,]+/).filter((entry) => entry !== '');
