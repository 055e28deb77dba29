import type { StartTlsProtocol } from '../../probes/starttls/upgrade.ts';
import type { Fields } from '../project/project.ts';

/**
 * The request of an SSL monitor that asks for no more than the program it comes from does: a certificate that is
 * trusted, in date, and for the name.
 */
export function handshakeRequest(sslConfig: Fields): { readonly sslConfig: Fields } {
  return { sslConfig: { ...sslConfig, alertDaysBeforeExpiry: null, securityBaseline: { enabled: false } } };
}

/** What insecure probes of others ignore, and SSL monitors do not. */
export const stillJudged = 'any authority is taken; the name and the dates of the certificate still count';

/** The protocol that somebody speaks who says this before TLS; undefined where SSL monitors do not speak it. */
export function protocolOf(said: readonly string[]): StartTlsProtocol | undefined {
  const [found] = signs.find(([, sign]) => said.some((text) => sign.test(text))) ?? [];
  return found;
}

const signs: readonly (readonly [protocol: StartTlsProtocol, sign: RegExp])[] = [
  ['xmpp', /<starttls|jabber:/i],
  ['pop3', /^\s*STLS\b|\+OK/i],
  ['imap', /^\s*[\w.]+\s+STARTTLS\b|^\W*\* ?OK/i],
  ['smtp', /^\s*STARTTLS\b|^\W*2[25]0|^\s*EHLO\b/i],
];
