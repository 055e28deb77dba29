import { isIP } from 'node:net';
import { proxyStatusIn } from '@picket/checks/foreign-texts/undici.ts';
import { daysLeft, expiryText } from '@picket/lib/figures/days-left.ts';
import { proxyUrlOf } from '@picket/lib/proxy.ts';
import { hostAndPort, type ResolvedAddress } from '@picket/probes/address.ts';
import { Connection } from '@picket/probes/connection/connection.ts';
import { classifyError, ProbeError } from '@picket/probes/connection/errors.ts';
import { type ForwardProxy, proxyFromUrl } from '@picket/probes/connection/forward-proxy.ts';
import type { ConnectionTarget } from '@picket/probes/connection/target.ts';
import { HostResolver } from '@picket/probes/dns/host/host-resolver.ts';
import { createEgressPolicy } from '@picket/probes/egress/policy.ts';
import { ResolveError, systemResolver } from '@picket/probes/resolver.ts';
import type { Examination, ExaminedAgent } from './examination.ts';
import { ok, problem, skipped, type Verdict } from './examination.ts';

const timeoutMs = 10_000;
/** The egress policy of checks does not apply to the service. */
const everywhere = createEgressPolicy({ allow: '*', deny: '', ownPorts: [] });

/** Where connections for the service lead: to the service itself or to the proxy. */
interface ServiceRoute {
  readonly service: { readonly hostname: string; readonly port: number; readonly isSecure: boolean };
  readonly proxy: ForwardProxy | undefined;
  readonly next: { readonly hostname: string; readonly port: number };
}

function serviceRouteOf({ settings }: ExaminedAgent): ServiceRoute {
  const url = new URL(settings.serviceUrl);
  const isSecure = url.protocol === 'https:';
  const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const service = { hostname, port: Number(url.port) || (isSecure ? 443 : 80), isSecure };
  const proxyUrl = proxyUrlOf(settings.serviceUrl, settings.proxy);
  const proxy = proxyUrl && proxyFromUrl(proxyUrl);
  return { service, proxy, next: proxy ?? service };
}

const noService = skipped('SERVICE_URL is not set: see environment');

/** Resolves the name of the service, or of its proxy, with both resolvers of the agent. */
export const dns: Examination = {
  name: 'dns',
  async examine(patient) {
    if (!patient.hasService) return noService;
    const { next } = serviceRouteOf(patient);
    const { hostname } = next;
    if (isIP(hostname) !== 0) return ok(`${hostname} is an address: nothing to look up`);
    const own = new HostResolver();
    const servers = own.nameServers().map(({ address }) => address);
    const asked = servers.length > 0 ? `name servers ${servers.join(', ')}` : 'no name server';
    const startMs = performance.now();
    try {
      const found = await own.resolve(hostname, 'any', { signal: limited(patient) });
      const elapsedMs = performance.now() - startMs;
      const usual = await systemResolver.resolve(hostname, 'any');
      const addresses = [...new Set([...found, ...usual].map(({ address }) => address))];
      return ok(`${hostname} is ${addresses.join(', ')} (${Math.round(elapsedMs)} ms)`);
    } catch (thrown) {
      patient.signal.throwIfAborted();
      const isUnknown = thrown instanceof ResolveError && thrown.kind === 'not-found';
      const detail = `${hostname} cannot be looked up (${asked}): ${thrown instanceof Error ? thrown.message : ''}`;
      return problem(
        detail,
        isUnknown
          ? 'Correct the name in SERVICE_URL (or of the proxy), or add it to the DNS of this network.'
          : 'Make a name server of /etc/resolv.conf reachable from this host (UDP and TCP port 53), or configure a reachable one.',
      );
    }
  },
};

/** Opens a TCP connection to the service, or to the proxy. */
export const tcp: Examination = {
  name: 'tcp',
  needs: ['dns'],
  async examine(patient) {
    const { next, proxy: via } = serviceRouteOf(patient);
    const { error, times, address } = await connect(patient, { ...next, isSecure: false, proxy: undefined });
    const where = `${via ? 'the proxy ' : ''}${hostAndPort(next.hostname, next.port)}`;
    if (!error) return ok(`${where} at ${address}, connected in ${times.tcpMs.toFixed(1)} ms`);
    const fix =
      error.kind === 'connection-refused'
        ? `Nothing listens there: start ${via ? 'the proxy' : 'the service'}, or correct ${via ? 'HTTPS_PROXY / HTTP_PROXY / ALL_PROXY' : 'SERVICE_URL'}.`
        : 'A firewall or a missing route blocks packets: open this port from here, or set HTTPS_PROXY if a proxy is required.';
    return problem(`${where}: ${error.message}`, fix);
  },
};

/** How the proxy responds to a tunnel, or a request, to the service. */
export const proxy: Examination = {
  name: 'proxy',
  needs: ['tcp'],
  async examine(patient) {
    const { service, proxy: via } = serviceRouteOf(patient);
    if (!via) return ok('the service is reached without a proxy');
    const name = hostAndPort(via.hostname, via.port);
    const target = hostAndPort(service.hostname, service.port);
    const isSocks = via.protocol === 'socks5';
    // Without TLS, an HTTP proxy passes requests on and opens no tunnel.
    if (!service.isSecure && !isSocks) return await plainProxy(patient, name, target);
    const { error, times } = await connect(
      patient,
      { ...service, proxy: via },
      { isCertificateChecked: false },
    );
    // Errors behind the tunnel belong to another examination.
    if (!error || !isAboutProxy(error))
      return ok(`${name} opens a tunnel to ${target} (${Math.round(times.proxyMs)} ms)`);
    if (error.details.proxyStatus === 407) return unauthorised(name);
    return problem(error.message, isSocks ? fixForSocks(error, target) : fixForProxy(error, target));
  },
};

async function plainProxy(patient: ExaminedAgent, name: string, target: string): Promise<Verdict> {
  const { attitude } = await patient.contact();
  const error = 'error' in attitude ? attitude.error : undefined;
  const status = error?.httpStatus;
  // The client reports this status as an error of its own.
  if (status === 407 || (error && proxyStatusIn(error.message) === 407)) return unauthorised(name);
  if (status === 502 || status === 504) {
    return problem(
      `${name} responded with status ${status}`,
      `The proxy cannot reach ${target}: see its logs, or exclude it with NO_PROXY.`,
    );
  }
  return ok(`${name} passes requests to ${target} on`);
}

function unauthorised(name: string): Verdict {
  return problem(
    `proxy ${name} requires a username and password, or different ones (407 Proxy Authentication Required)`,
    'Set them in HTTPS_PROXY (HTTP_PROXY for an http service): http://USER:PASSWORD@HOST:PORT, special characters as %XX.',
  );
}

function isAboutProxy({ phase }: ProbeError): boolean {
  return phase === 'proxy';
}

function fixForProxy({ kind }: ProbeError, target: string): string {
  if (kind === 'host-unreachable')
    return `The proxy cannot reach ${target}: see its logs, or exclude it with NO_PROXY.`;
  return `Allow CONNECT ${target} in the proxy, correct HTTPS_PROXY, or exclude the service with NO_PROXY.`;
}

function fixForSocks({ kind }: ProbeError, target: string): string {
  if (kind !== 'proxy-failed')
    return `The proxy cannot reach ${target}: see its logs, or exclude it with NO_PROXY.`;
  return `Set the proxy's user and password (socks5://USER:PASSWORD@HOST:PORT, special characters as %XX), allow ${target} in the proxy, or exclude the service with NO_PROXY.`;
}

/** The certificates of the service. */
export const tls: Examination = {
  name: 'tls',
  needs: ['tcp', 'proxy'],
  async examine(patient) {
    const { service, proxy: via } = serviceRouteOf(patient);
    if (!service.isSecure) return ok('not used: SERVICE_URL is http://');
    const { error, certificate } = await connect(patient, { ...service, proxy: via });
    const shown =
      certificate && `${certificate.subject ?? 'no name'}, issued by ${quoted(certificate.issuer)}`;
    if (!error) {
      const days = certificate ? daysLeft(certificate.validToMs, Date.now()) : 0;
      return ok(`${certificate?.protocol ?? 'TLS'}, certificate of ${shown}, which ${expiryText(days)}`);
    }
    return certificateTrouble(error, service.hostname, shown, quoted(certificate?.issuer ?? null));
  },
};

function certificateTrouble(
  error: ProbeError,
  hostname: string,
  shown: string | undefined,
  issuer: string,
): Verdict {
  const whose = shown === undefined ? '' : ` (certificate of ${shown})`;
  switch (error.code) {
    case 'CERT_HAS_EXPIRED':
    case 'CERT_NOT_YET_VALID':
      return problem(
        error.message + whose,
        'Renew the certificate; if it is valid, correct the clock of this host.',
      );
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return problem(
        error.message + whose,
        `Use a name in SERVICE_URL that the certificate covers, or issue a certificate for ${hostname}.`,
      );
    default:
      if (error.kind !== 'certificate-invalid') {
        return problem(
          error.message,
          'The server does not speak TLS, or an obsolete version: correct SERVICE_URL or the server.',
        );
      }
      return problem(
        `this host does not trust ${issuer}, which issued the certificate of ${hostname}: a proxy that intercepts TLS, or a custom CA`,
        `Put the certificate of ${issuer} as a PEM file into a folder, and set CA_CERTS_DIR to it.`,
      );
  }
}

function quoted(name: string | null): string {
  return name === null ? 'an issuer without a name' : `"${name}"`;
}

interface Attempt {
  readonly error: ProbeError | undefined;
  readonly times: Connection['times'];
  readonly address: string | null;
  readonly certificate: Connection['certificate'];
}

async function connect(
  patient: ExaminedAgent,
  target: Pick<ConnectionTarget, 'hostname' | 'port' | 'isSecure' | 'proxy'>,
  options: { readonly isCertificateChecked: boolean } = { isCertificateChecked: true },
): Promise<Attempt> {
  const signal = limited(patient);
  // Like the service client: prefers IPv4.
  const resolver = {
    resolve: async (hostname: string): Promise<readonly ResolvedAddress[]> =>
      await systemResolver.resolve(hostname, 'any'),
  };
  const connection = new Connection({
    ...target,
    family: 4,
    clientIdentity: undefined,
    alpnProtocols: ['http/1.1'],
    ...options,
  });
  const failed = await new Promise<unknown>((resolve) => {
    const onTimeout = () =>
      resolve(Object.assign(new Error(`no answer within ${timeoutMs} ms`), { code: 'ETIMEDOUT' }));
    signal.addEventListener('abort', onTimeout, { once: true });
    connection.open({ resolver, egress: everywhere }, (error) => resolve(error ?? undefined));
  });
  const { times, address, certificate, phase, where } = connection;
  connection.destroy();
  patient.signal.throwIfAborted();
  const error = failed === undefined ? undefined : classifyError(failed, phase, where);
  // Not a network problem but a bug.
  if (error && !(error instanceof ProbeError)) throw error;
  return {
    error,
    times,
    address,
    certificate,
  };
}

function limited(patient: ExaminedAgent): AbortSignal {
  return AbortSignal.any([patient.signal, AbortSignal.timeout(timeoutMs)]);
}
