import { DigestLogin } from '@picket/probes/http/login/digest.ts';
import type { Login } from '@picket/probes/http/login/login.ts';
import { NegotiateLogin } from '@picket/probes/http/login/negotiate/negotiate.ts';
import { NtlmLogin } from '@picket/probes/http/login/ntlm.ts';
import { render } from '../../judging/templating.ts';
import { type KerberosSettings, kerberosMeans } from '../../kerberos/settings.ts';
import type { Auth } from './auth.ts';

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
