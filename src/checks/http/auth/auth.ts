import { DigestLogin } from '@picket/probes/http/login/digest.ts';
import type { Login } from '@picket/probes/http/login/login.ts';
import { NegotiateLogin } from '@picket/probes/http/login/negotiate/negotiate.ts';
import { NtlmLogin } from '@picket/probes/http/login/ntlm.ts';
import { z } from 'zod';
import { render } from '../../judging/templating.ts';
import { type KerberosSettings, kerberosMeans } from './kerberos-settings.ts';

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
    password: z.string().max(1000).default('').describe('Password. Empty for NEGOTIATE'),
    domain: z
      .string()
      .max(255)
      .default('')
      .describe('Domain of the user, for NTLM only; empty: the domain of the server'),
  })
  .superRefine(({ type, username, password, domain }, context) => {
    const refuse = (field: string, message: string) =>
      context.addIssue({ code: 'custom', path: [field], message });
    if (type !== 'NTLM' && domain !== '') refuse('domain', 'is for NTLM only');
    if (type !== 'NEGOTIATE' && username === '') refuse('username', `is required for ${type}`);
    if (type !== 'NEGOTIATE') return;
    const reason = 'must be empty for NEGOTIATE, which uses the Kerberos identity of the agent';
    if (username !== '') refuse('username', reason);
    if (password !== '') refuse('password', reason);
  })
  .meta({ id: 'Auth' });
export type Auth = z.output<typeof Auth>;

/** The login of a request. */
export const AuthField = Auth.nullable()
  .default(null)
  .describe('Login at the origin of the URL; an Authorization header of the check replaces it');

/** Whether a request has at most one of the two fields for a login. */
export function isAuthUnique({
  basicAuth,
  auth,
}: {
  readonly basicAuth: unknown;
  readonly auth: unknown;
}): boolean {
  return basicAuth === null || auth === null;
}

/** Values of `auth` with their templates filled in. @throws TemplateError */
export function filledAuth(auth: Auth, variables: Readonly<Record<string, string>>): Auth {
  const filled = (text: string) => render(text, variables, 'raw');
  const { type, username, password, domain } = auth;
  return { type, username: filled(username), password: filled(password), domain: filled(domain) };
}

/** Returns what begins the login that a check describes; undefined for BASIC, which is a header. */
export function loginOf(
  { type, username, password, domain }: Auth,
  kerberos: KerberosSettings | undefined,
): (() => Login) | undefined {
  switch (type) {
    case 'BASIC':
      return undefined;
    case 'DIGEST':
      return () => new DigestLogin({ username, password });
    case 'NTLM':
      return () => new NtlmLogin({ username, password, domain });
    case 'NEGOTIATE':
      return () => new NegotiateLogin(kerberosMeans(kerberos));
  }
}
