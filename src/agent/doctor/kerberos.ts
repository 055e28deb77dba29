import { hasKerberos } from '@picket/checks/kerberos/settings.ts';
import { ProbeError } from '@picket/probes/connection/errors.ts';
import { kerberosCodes, tryIdentity } from '@picket/probes/http/login/negotiate/kerberos.ts';
import type { Examination } from './examination.ts';
import { ok, problem, skipped, type Verdict, warning } from './examination.ts';

/** A ticket that nothing renews in time. */
const fewSeconds = 600;

/** Whether the agent gets Kerberos tickets for logins of type NEGOTIATE. */
export const kerberos: Examination = {
  name: 'kerberos',
  async examine({ settings, signal }) {
    const { servers, ...identity } = settings.kerberos;
    if (!hasKerberos(settings.kerberos)) {
      return skipped('neither KERBEROS_KEYTAB nor KERBEROS_TICKET_CACHE is set: checks do not log in by it');
    }
    const found: Verdict[] = [];
    try {
      const { principal, lifetimeS } = await tryIdentity(identity, signal);
      const minutes = Math.floor(lifetimeS / 60);
      const text = `${principal} has a ticket that is valid for ${minutes} minutes`;
      const isExpiring = identity.keytab === undefined && lifetimeS < fewSeconds;
      found.push(
        isExpiring
          ? warning(text, 'Let a program renew the tickets of KERBEROS_TICKET_CACHE, or set KERBEROS_KEYTAB.')
          : ok(text),
      );
    } catch (thrown) {
      if (!(thrown instanceof ProbeError)) throw thrown;
      found.push(problem(thrown.message, fixes[thrown.code ?? ''] ?? otherFix));
    }
    if (servers.length === 0) {
      const fix = 'Name the hosts at which checks may log in: *.intra.example.com';
      found.push(warning('names no host: no check can use the identity', fix, 'KERBEROS_SERVERS'));
    }
    return found;
  },
};

const fixes: Readonly<Record<string, string>> = {
  [kerberosCodes.library]:
    'Install the Debian package libgssapi-krb5-2, or use the full image, which has it.',
  [kerberosCodes.keytab]: 'Mount the keytab so that the user of the agent can read it.',
};
const otherFix =
  'Try kinit with the same keytab on this host: realm, KDC, clock and principal have to match.';
