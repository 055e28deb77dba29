import { holdPreamble } from '../preamble/exchange.ts';
import { imap, pop3, smtp } from '../preamble/mail.ts';
import { mysql } from '../preamble/mysql.ts';
import { HungUp, Malformed, type Preamble, Refusal } from '../preamble/preamble.ts';
import { ldap, postgres } from '../preamble/stores.ts';
import { xmpp } from '../preamble/xmpp.ts';
import { ProbeError } from './errors.ts';
import type { Upgrade } from './target.ts';

const preambles: Readonly<Record<StartTlsProtocol, (hostname: string) => Preamble>> = {
  smtp,
  imap,
  pop3,
  ldap,
  postgres,
  mysql,
  xmpp,
};

/** Protocols with an upgrade to TLS. */
export type StartTlsProtocol = 'smtp' | 'imap' | 'pop3' | 'ldap' | 'postgres' | 'mysql' | 'xmpp';

/**
 * Requests TLS from a server in its protocol.
 *
 * Data between the server's consent and TLS is refused: a man in the middle could have injected it, and a client
 * that reads it later would take it for data received over TLS.
 */
export function startTls(protocol: StartTlsProtocol, hostname: string): Upgrade {
  return startTlsBy(protocol, () => preambles[protocol](hostname));
}

/** The same with a preamble of the caller, who needs what the server says in it. */
export function startTlsBy(protocol: StartTlsProtocol, preamble: () => Preamble): Upgrade {
  return (socket, exchange) =>
    holdPreamble(preamble(), {
      socket,
      next: 'TLS',
      send: exchange.send,
      done: (thrown) => exchange.done(thrown === null ? null : asProbeError(thrown, protocol)),
    });
}

function asProbeError(thrown: Error, protocol: StartTlsProtocol): Error {
  const name =
    protocol === 'postgres' ? 'PostgreSQL' : protocol === 'mysql' ? 'MySQL' : protocol.toUpperCase();
  if (thrown instanceof Refusal) {
    const code = thrown instanceof HungUp ? 'ECONNRESET' : undefined;
    return new ProbeError('upgrade-refused', 'starttls', `STARTTLS of ${name}: ${thrown.message}`, code);
  }
  if (thrown instanceof Malformed) {
    return new ProbeError('response-malformed', 'starttls', `STARTTLS of ${name}: ${thrown.message}`);
  }
  return thrown;
}
