import { fetchBrowserTickets } from '@picket/checks/kerberos/browser-tickets.ts';
import { hasKerberos, type KerberosSettings } from '@picket/checks/kerberos/settings.ts';
import { toError } from '@picket/lib/errors.ts';
import { CaptureUnavailable, ConnectionCapture } from '@picket/probes/capture/capture.ts';
import { ProbeError } from '@picket/probes/connection/errors.ts';
import { createEgressPolicy } from '@picket/probes/egress/policy.ts';
import { kerberosCodes, tryIdentity } from '@picket/probes/http/login/negotiate/kerberos.ts';
import { IcmpUnavailable } from '@picket/probes/icmp/backend.ts';
import { icmpFix, openIcmpBackend } from '@picket/probes/icmp/open-backend.ts';
import { loadLibc, SysUnavailable } from '@picket/probes/sys/libc.ts';
import type { Examination } from './examination.ts';
import { ok, problem, skipped, type Verdict, warning } from './examination.ts';
import { chosenTypes } from './offered-types.ts';

/** How this host sends pings. */
export const icmp: Examination = {
  name: 'icmp',
  async examine({ settings }) {
    if (!chosenTypes(settings).some(({ needsIcmp }) => needsIcmp)) {
      return skipped('CHECK_TYPES names no checks that ping');
    }
    try {
      const backend = await openIcmpBackend();
      await backend.close();
      return ok(backend.description);
    } catch (thrown) {
      if (!(thrown instanceof IcmpUnavailable)) throw thrown;
      const detail = thrown.message.replace(icmpFix, '').trim();
      return problem(detail, `${icmpFix} Kubernetes: securityContext.sysctls of the pod.`);
    }
  },
};

/** Whether packets of failed requests can be captured as evidence. */
export const capture: Examination = {
  name: 'capture',
  async examine() {
    try {
      const scope = {
        address: '127.0.0.1',
        family: 4 as const,
        port: 9,
        protocol: 'tcp' as const,
        payloadBytes: 0,
      };
      const started = ConnectionCapture.start(await loadLibc(), scope, { maxPackets: 1, maxBytes: 1024 });
      await started.stop();
      return ok('packets of failed requests can be captured');
    } catch (thrown) {
      if (!(thrown instanceof CaptureUnavailable) && !(thrown instanceof SysUnavailable)) throw thrown;
      return warning(
        `results of failed requests come without packets: ${toError(thrown).message}`,
        'Give the agent the capability NET_RAW if you want them; everything else works without it.',
      );
    }
  },
};

const metadataAddress = '169.254.169.254';

/** Addresses that checks may connect to. */
export const egress: Examination = {
  name: 'egress',
  async examine({ settings }) {
    const { allow, deny } = settings.egress;
    const policy = createEgressPolicy({ allow, deny, ownPorts: [settings.healthPort] });
    const rules = [
      ...(allow === '' ? [] : [`EGRESS_ALLOW=${allow}`]),
      ...(deny === '' ? [] : [`EGRESS_DENY=${deny}`]),
    ];
    const summary = rules.length === 0 ? 'the default rules apply' : rules.join(' ');
    if (policy.refusal({ hostname: metadataAddress, address: metadataAddress, port: 80 }) === undefined) {
      return warning(
        `${summary}: checks can reach the metadata service of a cloud (${metadataAddress}), and its credentials`,
        `Remove 169.254.0.0/16 from EGRESS_ALLOW, unless this is intended.`,
      );
    }
    return ok(`${summary}; cloud metadata services and link-local addresses are blocked`);
  },
};

/** A ticket that nothing renews in time. */
const fewSeconds = 600;

/** Whether the agent gets Kerberos tickets for logins of type NEGOTIATE. */
export const kerberos: Examination = {
  name: 'kerberos',
  async examine({ settings, signal }) {
    const { servers, browserServers, ...identity } = settings.kerberos;
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
      found.push(problem(thrown.message, ticketFixes[thrown.code ?? ''] ?? otherTicketFix));
    }
    if (browserServers.length > 0) found.push(...(await ticketsForBrowsers(settings.kerberos, signal)));
    if (servers.length === 0 && browserServers.length === 0) {
      const fix = 'Name the hosts at which checks may log in: *.intra.example.com';
      found.push(warning('names no host: no check can use the identity', fix, 'KERBEROS_SERVERS'));
    }
    return found;
  },
};

async function ticketsForBrowsers(settings: KerberosSettings, signal: AbortSignal): Promise<Verdict[]> {
  const about = 'KERBEROS_BROWSER_SERVERS';
  const { servers, problems } = await fetchBrowserTickets(settings, signal);
  const missing = problems.map(({ server, error }) =>
    problem(
      `browsers have no ticket for ${server}: ${error.message}`,
      ticketFixes[error.code ?? ''] ??
        `The KDC needs a principal HTTP/${server}; try kvno HTTP/${server} with the same keytab or tickets.`,
      about,
    ),
  );
  return servers.length === 0
    ? missing
    : [...missing, ok(`browsers have tickets for ${servers.join(', ')}`, about)];
}

const ticketFixes: Readonly<Record<string, string>> = {
  [kerberosCodes.library]:
    'Install the Debian package libgssapi-krb5-2, or use the full image, which has it.',
  [kerberosCodes.keytab]: 'Mount the keytab so that the user of the agent can read it.',
};
const otherTicketFix =
  'Try kinit with the same keytab on this host: realm, KDC, clock and principal have to match.';
