import { domainToASCII } from 'node:url';
import { type IpFamily, literalAddress, type ResolvedAddress } from '../../address.ts';
import { ProbeError } from '../../connection/errors.ts';
import type { EgressPolicy } from '../../egress/policy.ts';
import { type LookupControls, ownAnswer, ResolveError, type Resolver } from '../../resolver.ts';
import type { StampClock } from '../../sys/kernel-clock.ts';
import { type DnsReply, queryDns } from '../query.ts';
import { type DnsServer, serverText } from '../server.ts';
import type { DnsMessage } from '../wire/message.ts';
import { isSameName, queryName } from '../wire/name.ts';
import { type HostsFile, parseHosts, parseResolvConf, type ResolvConf } from './resolv-conf.ts';
import { WatchedFile } from './watched-file.ts';

/** Longest chain of CNAME records that is followed. */
const maxAliases = 16;

/** Result of looking up one name at DNS servers. */
type Lookup =
  | { readonly kind: 'found'; readonly addresses: readonly ResolvedAddress[] }
  /** The name or the record does not exist, according to a server. */
  | { readonly kind: 'absent'; readonly code: 'ENOTFOUND' | 'ENODATA'; readonly reason: string }
  /** No server gave a definitive answer. */
  | {
      readonly kind: 'unknown';
      readonly code: string;
      readonly reason: string;
      readonly responseCode: string | undefined;
    };

const never = new AbortController().signal;

/** Returns why the egress policy forbids looking a name up at name servers; undefined if it is allowed. */
export type LookupRefusal = EgressPolicy['lookupRefusal'];

/** @throws ResolveError if the name may not be looked up. */
export function requireAllowed(lookupRefusal: LookupRefusal, hostname: string): void {
  const refusal = lookupRefusal(hostname);
  if (refusal)
    throw new ResolveError('refused', 'EGRESS_DENIED', refusal.message, { egressRule: refusal.rule });
}

/** One lookup in progress: its abort signal and the time that its servers have taken so far. */
interface LookupRun {
  readonly signal: AbortSignal;
  elapsedMs: number;
  lagMs: number;
  clock: StampClock;
}
/** The servers of resolv.conf belong to this host, including link-local ones in clouds; no check chose them. */
const unrestricted = { refusal: () => undefined };

/**
 * Resolves names from /etc/hosts and at the name servers of resolv.conf, over sockets of this process: any number of
 * lookups may hang without delaying others, which libuv's threads do not allow. A lookup runs through
 *
 *   literal -> special name -> /etc/hosts -> DNS, once for each candidate name
 *
 * and ends at the first step that yields an address. Candidates are the name itself and the name within each domain of
 * the search list, ordered by `ndots`. For each candidate the servers are queried in turn, for `attempts` rounds, until
 * one answers that the name exists or does not; a failing server (silence, SERVFAIL, REFUSED, …) answers neither.
 * Nothing is cached: a monitor needs the current state.
 */
export class StubResolver implements Resolver {
  readonly #resolvConf: WatchedFile<ResolvConf>;
  readonly #hosts: WatchedFile<HostsFile>;
  readonly #lookupRefusal: LookupRefusal;
  #turn = 0;

  /** @param files their paths; both are read again when they change. */
  constructor(
    files: { readonly resolvConfPath: string; readonly hostsPath: string },
    lookupRefusal: LookupRefusal = () => undefined,
  ) {
    this.#lookupRefusal = lookupRefusal;
    this.#resolvConf = new WatchedFile(files.resolvConfPath, parseResolvConf);
    this.#hosts = new WatchedFile(files.hostsPath, parseHosts);
  }

  /** The servers of resolv.conf, in query order. */
  nameServers(): readonly DnsServer[] {
    return this.#resolvConf.read().servers;
  }

  async resolve(
    hostname: string,
    family: IpFamily | 'any',
    { signal = never, onMeasured }: LookupControls = {},
  ): Promise<readonly ResolvedAddress[]> {
    const run: LookupRun = { signal, ...ownAnswer };
    try {
      return await this.#resolve(hostname, family, run);
    } finally {
      const { elapsedMs, lagMs, clock } = run;
      onMeasured?.({ elapsedMs, lagMs, clock });
    }
  }

  async #resolve(
    hostname: string,
    family: IpFamily | 'any',
    run: LookupRun,
  ): Promise<readonly ResolvedAddress[]> {
    const literal = literalAddress(hostname);
    if (literal) return [literal];
    // The host parser also accepts legacy spellings of addresses, such as 127.1.
    const ascii = domainToASCII(hostname.trim());
    const spelled = literalAddress(ascii);
    if (spelled) return [spelled];
    const isAbsolute = ascii.endsWith('.');
    const name = ascii === '.' ? undefined : queryName(ascii)?.toLowerCase();
    if (name === undefined) throw notFound(hostname, family, 'ENOTFOUND', 'it is not a host name');

    const listed = this.#fromHosts(name, family);
    if (listed.length > 0) return listed;
    const loopback = loopbackAddresses(name, family);
    if (loopback) return loopback;
    if (isNeverDelegated(name)) throw notFound(hostname, family, 'ENOTFOUND', 'such names never exist');
    requireAllowed(this.#lookupRefusal, hostname);
    return await this.#fromServers({ hostname, name, isAbsolute, family }, run);
  }

  #fromHosts(name: string, family: IpFamily | 'any'): readonly ResolvedAddress[] {
    const entries = (this.#hosts.read().get(name) ?? []).filter(
      (entry) => family === 'any' || entry.family === family,
    );
    return entries.toSorted((left, right) => left.family - right.family);
  }

  async #fromServers(
    asked: {
      readonly hostname: string;
      readonly name: string;
      readonly isAbsolute: boolean;
      readonly family: IpFamily | 'any';
    },
    run: LookupRun,
  ): Promise<readonly ResolvedAddress[]> {
    const { hostname, name, isAbsolute, family } = asked;
    const conf = this.#resolvConf.read();
    let absent: Extract<Lookup, { kind: 'absent' }> | undefined;
    let unknown: Extract<Lookup, { kind: 'unknown' }> | undefined;
    for (const candidate of candidates(name, isAbsolute, conf)) {
      const lookup = await this.#lookUp(candidate, family, conf, run);
      if (lookup.kind === 'found') return lookup.addresses;
      if (lookup.kind === 'absent') {
        // An error that confirms the name exists says more than "not found".
        if (absent?.code !== 'ENODATA') absent = lookup;
        continue;
      }
      unknown ??= lookup;
      // Servers that are silent now would time out for the next candidate, too.
      if (lookup.responseCode === undefined) break;
    }
    if (unknown) {
      const message = `the resolver did not resolve ${hostname}: ${unknown.reason}`;
      throw new ResolveError('unavailable', unknown.code, message, unknown);
    }
    throw notFound(
      hostname,
      family,
      absent?.code ?? 'ENOTFOUND',
      absent?.reason ?? 'no name server was queried',
    );
  }

  /** Looks up one candidate name; for any family it queries both at once and lists IPv4 first. */
  async #lookUp(name: string, family: IpFamily | 'any', conf: ResolvConf, run: LookupRun): Promise<Lookup> {
    if (family !== 'any') return await this.#ask(name, family, conf, run);
    const other = { ...run };
    const lookups = await Promise.all([this.#ask(name, 4, conf, run), this.#ask(name, 6, conf, other)]);
    // Both lookups ran concurrently.
    run.elapsedMs = Math.max(run.elapsedMs, other.elapsedMs);
    run.lagMs = Math.max(run.lagMs, other.lagMs);
    if (other.clock === 'event') run.clock = 'event';
    const addresses = lookups.flatMap((lookup) => (lookup.kind === 'found' ? lookup.addresses : []));
    if (addresses.length > 0) return { kind: 'found', addresses };
    return lookups.find(({ kind }) => kind === 'unknown') ?? lookups[0];
  }

  async #ask(name: string, family: IpFamily, conf: ResolvConf, run: LookupRun): Promise<Lookup> {
    const servers = this.#inTurn(conf);
    const problems: string[] = [];
    let code = 'EAI_AGAIN';
    let responseCode: string | undefined;
    for (let attempt = 0; attempt < conf.attempts; attempt += 1) {
      for (const server of servers) {
        const startMs = performance.now();
        try {
          const { message, elapsedMs, measurement } = await this.#query(name, family, server, conf, run);
          run.elapsedMs += elapsedMs;
          run.lagMs = Math.max(run.lagMs, measurement.lagMs);
          if (measurement.clock === 'event') run.clock = 'event';
          const lookup = lookupOf(message, name, family, server);
          if (lookup) return lookup;
          responseCode ??= message.responseCode;
          problems.push(`${serverText(server)} answered ${message.responseCode}`);
        } catch (thrown) {
          if (!(thrown instanceof ProbeError)) throw thrown;
          run.elapsedMs += performance.now() - startMs;
          if (run.signal.aborted) throw stopped(name);
          code = thrown.code === undefined || thrown.kind === 'response-timeout' ? code : thrown.code;
          problems.push(thrown.message);
        }
      }
    }
    return { kind: 'unknown', code, reason: [...new Set(problems)].join('; '), responseCode };
  }

  #query(
    name: string,
    family: IpFamily,
    server: DnsServer,
    conf: ResolvConf,
    { signal }: LookupRun,
  ): Promise<DnsReply> {
    const question = { name, type: family === 6 ? 'AAAA' : 'A' } as const;
    const options = { protocol: conf.isTcpOnly ? 'TCP' : 'UDP', isEdns: conf.isEdns } as const;
    return queryDns(question, server, options, {
      egress: unrestricted,
      signal,
      timeoutMs: conf.timeoutMs,
    });
  }

  #inTurn({ servers, isRotated }: ResolvConf): readonly DnsServer[] {
    if (!isRotated) return servers;
    this.#turn = (this.#turn + 1) % servers.length;
    return [...servers.slice(this.#turn), ...servers.slice(0, this.#turn)];
  }
}

/** Interprets a response; undefined if this server gave no definitive answer. */
function lookupOf(
  message: DnsMessage,
  name: string,
  family: IpFamily,
  server: DnsServer,
): Lookup | undefined {
  const { responseCode, answers } = message;
  if (responseCode !== 'NOERROR' && responseCode !== 'NXDOMAIN') return undefined;
  let owner = `${name}.`;
  for (let aliasCount = 0; ; aliasCount += 1) {
    const records = answers.filter((record) => isSameName(record.name, owner));
    const addresses = records
      .filter(({ type }) => type === (family === 6 ? 'AAAA' : 'A'))
      .map(({ text }): ResolvedAddress => ({ address: text, family }));
    if (addresses.length > 0) return { kind: 'found', addresses };
    const alias = records.find(({ type }) => type === 'CNAME');
    if (!alias) break;
    if (aliasCount === maxAliases) {
      const reason = `its CNAME records form a loop, or a chain of more than ${maxAliases}`;
      return { kind: 'absent', code: 'ENODATA', reason };
    }
    owner = alias.text;
  }
  const about = isSameName(owner, name) ? '' : ` for its alias ${owner}`;
  const reason = `${serverText(server)} answered ${responseCode}${responseCode === 'NOERROR' ? ' without one' : ''}${about}`;
  return { kind: 'absent', code: responseCode === 'NXDOMAIN' ? 'ENOTFOUND' : 'ENODATA', reason };
}

/** The caller has aborted the lookup. */
function stopped(name: string): ResolveError {
  return new ResolveError('unavailable', 'ECANCELED', `the lookup of ${name} was stopped`);
}

/** The names to query, in order (resolv.conf(5), `ndots`). A trailing dot marks an absolute name. */
function candidates(name: string, isAbsolute: boolean, { search, ndots }: ResolvConf): string[] {
  const found = search.flatMap((domain) => queryName(domain === '' ? name : `${name}.${domain}`) ?? []);
  if (isAbsolute) return [name];
  const dotCount = name.split('.').length - 1;
  return dotCount >= ndots ? [name, ...found] : [...found, name];
}

/** `localhost` and names below it are this host, whatever DNS answers (RFC 6761 section 6.3). */
function loopbackAddresses(name: string, family: IpFamily | 'any'): readonly ResolvedAddress[] | undefined {
  if (name !== 'localhost' && !name.endsWith('.localhost')) return undefined;
  const both: readonly ResolvedAddress[] = [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ];
  return both.filter((entry) => family === 'any' || entry.family === family);
}

/** Top-level domains that must not be queried in DNS (RFC 6761 section 6.4, RFC 7686). */
function isNeverDelegated(name: string): boolean {
  return /(^|\.)(invalid|onion)$/.test(name);
}

function notFound(hostname: string, family: IpFamily | 'any', code: string, reason: string): ResolveError {
  const wanted = family === 'any' ? 'address' : `IPv${family} address`;
  return new ResolveError('not-found', code, `${hostname} has no ${wanted} (${code}): ${reason}`);
}
