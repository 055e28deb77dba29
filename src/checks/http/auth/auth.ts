import { z } from 'zod';

export const authTypes = ['BASIC', 'DIGEST', 'NTLM', 'NEGOTIATE'] as const;

/** How a request logs in at its origin. */
export const Auth = z
  .object({
    type: z
      .enum(authTypes)
      .describe(
        'BASIC sends user and password with the request; DIGEST and NTLM answer the challenge of the server with them; NEGOTIATE answers it with the Kerberos identity of the agent',
      ),
    username: z
      .string()
      .max(1000)
      .default('')
      .describe('User name; for NTLM also `DOMAIN\\user` or `user@domain`. Empty for NEGOTIATE'),
    password: z.string().max(1000).default('').describe('Password; NEGOTIATE does not use it'),
    domain: z
      .string()
      .max(255)
      .default('')
      .describe('Domain of the user, for NTLM only; empty: the domain of the server'),
  })
  .superRefine(({ type, username, domain }, context) => {
    const refuse = (field: string, message: string) =>
      context.addIssue({ code: 'custom', path: [field], message });
    if (type !== 'NTLM' && domain !== '') refuse('domain', 'is for NTLM only');
    if (type !== 'NEGOTIATE' && username === '') refuse('username', `is required for ${type}`);
    // A password alone is left from another type: forms cannot empty what they do not show.
    if (type === 'NEGOTIATE' && username !== '') {
      refuse('username', 'must be empty for NEGOTIATE, which uses the Kerberos identity of the agent');
    }
  });
export type Auth = z.output<typeof Auth>;

/** The login of a request. */
export const AuthField = Auth.nullable()
  .default(null)
  .describe('Login at the origin of the URL; an Authorization header of the check replaces it');

export const authNotUnique = 'cannot be combined with basicAuth: use one of them';

/** Whether a request has at most one of the two fields for a login. */
export function isAuthUnique({
  basicAuth,
  auth,
}: {
  readonly basicAuth: unknown;
  readonly auth: unknown;
}): boolean {
  return !basicAuth || !auth;
}
