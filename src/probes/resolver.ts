import { lookup } from 'node:dns';
import { type IpFamily, literalAddress, type ResolvedAddress, type WantedFamily } from './address.ts';
import type { StampClock } from './sys/kernel-clock.ts';

/** Timing of a lookup. */
export interface LookupTimes {
  /** Time of the name servers and the network, in milliseconds; 0 if no server was queried. */
  readonly elapsedMs: number;
  /** Maximum delay between the arrival of a response and its detection. */
  readonly lagMs: number;
  readonly clock: StampClock;
}

export interface LookupControls {
  /** Aborting ends the lookup and its queries; it then rejects. */
  readonly signal?: AbortSignal | undefined;
  /** Called before the lookup ends, with or without success, by resolvers that measure more than the total time. */
  readonly onMeasured?: ((times: LookupTimes) => void) | undefined;
}

/** Resolves host names to addresses. */
export interface Resolver {
  /**
   * Returns the addresses of a host name in the order to try them, at least one. A literal address is returned
   * unchanged, whatever the family: its author has already chosen.
   *
   * @param hostname a name, or an IPv4 or IPv6 address without brackets.
   * @param family the only family wanted, or 'any'.
   * @throws ResolveError if there is no such address, or the resolver gave no answer.
   */
  resolve(
    hostname: string,
    family: IpFamily | 'any',
    controls?: LookupControls,
  ): Promise<readonly ResolvedAddress[]>;
}

/**
 * Why a name has no address: `not-found` is the name's fault, `unavailable` the resolver's; `refused`: the egress
 * policy forbids the lookup.
 */
export class ResolveError extends Error {
  readonly kind: 'not-found' | 'unavailable' | 'refused';
  readonly code: string;
  /** Response code of a name server that returned no address. */
  readonly responseCode: string | undefined;
  /** The rule of the egress policy that forbids the lookup. */
  readonly egressRule: string | undefined;

  constructor(
    kind: ResolveError['kind'],
    code: string,
    message: string,
    { responseCode, egressRule }: { readonly responseCode?: string; readonly egressRule?: string } = {},
  ) {
    super(message);
    this.name = 'ResolveError';
    this.kind = kind;
    this.code = code;
    this.responseCode = responseCode;
    this.egressRule = egressRule;
  }
}

/** No server was queried. */
export const ownAnswer: LookupTimes = { elapsedMs: 0, lagMs: 0, clock: 'kernel' };

/**
 * Resolves the wanted addresses of a name. With `ipv4-first`, IPv6 is queried only if there is no IPv4 address; the
 * times of both lookups count.
 *
 * @throws ResolveError of the first lookup if neither finds an address, of the second if that one gets no answer.
 */
export async function resolveWanted(
  resolver: Resolver,
  hostname: string,
  wanted: WantedFamily | 'any',
  { signal, onMeasured }: LookupControls = {},
): Promise<readonly ResolvedAddress[]> {
  if (wanted !== 'ipv4-first') return await resolver.resolve(hostname, wanted, { signal, onMeasured });
  const measured: LookupTimes[] = [];
  const controls = { signal, onMeasured: (times: LookupTimes) => void measured.push(times) };
  try {
    return await resolver.resolve(hostname, 4, controls);
  } catch (thrown) {
    if (!isNotFound(thrown)) throw thrown;
    return await resolver.resolve(hostname, 6, controls).catch((further: unknown) => {
      throw isNotFound(further) ? thrown : further;
    });
  } finally {
    if (measured.length > 0) onMeasured?.(inTurn(measured));
  }
}

function isNotFound(thrown: unknown): boolean {
  return thrown instanceof ResolveError && thrown.kind === 'not-found';
}

/** Adds up consecutive lookups. */
function inTurn(lookups: readonly LookupTimes[]): LookupTimes {
  return {
    elapsedMs: lookups.reduce((sum, { elapsedMs }) => sum + elapsedMs, 0),
    lagMs: lookups.reduce((most, { lagMs }) => Math.max(most, lagMs), 0),
    clock: lookups.some(({ clock }) => clock === 'event') ? 'event' : 'kernel',
  };
}

/** Errors of getaddrinfo that mean "the name has no such address"; all others are the resolver's fault. */
const notFoundCodes: ReadonlySet<string> = new Set(['ENOTFOUND', 'EAI_NONAME', 'EAI_NODATA', 'ENODATA']);

/**
 * The host's own resolver (getaddrinfo: resolv.conf, /etc/hosts, nsswitch). The agent uses it for the names that
 * host-resolver.ts cannot resolve itself. Each lookup holds a thread of libuv's pool until it is done, so the process
 * must set UV_THREADPOOL_SIZE well above the number of lookups that may hang at once; the default of 4 lets a few dead
 * names delay all others by many seconds.
 */
export const systemResolver: Resolver = {
  resolve(hostname, family, { onMeasured } = {}) {
    const literal = literalAddress(hostname);
    if (literal) {
      onMeasured?.(ownAnswer);
      return Promise.resolve([literal]);
    }
    // getaddrinfo cannot be aborted: the caller drops a late result.
    return new Promise((resolve, reject) => {
      lookup(
        hostname,
        { family: family === 'any' ? 0 : family, all: true, order: 'ipv4first' },
        (error, found) => {
          if (error) return reject(resolveError(hostname, family, error));
          const addresses = found.map(
            (entry): ResolvedAddress => ({
              address: entry.address,
              family: entry.family === 6 ? 6 : 4,
            }),
          );
          if (addresses.length === 0) return reject(noAddress(hostname, family, 'ENODATA'));
          resolve(addresses);
        },
      );
    });
  },
};

function resolveError(
  hostname: string,
  family: IpFamily | 'any',
  error: NodeJS.ErrnoException,
): ResolveError {
  const code = error.code ?? 'UNKNOWN';
  if (notFoundCodes.has(code)) return noAddress(hostname, family, code);
  return new ResolveError('unavailable', code, `the resolver did not resolve ${hostname} (${code})`);
}

function noAddress(hostname: string, family: IpFamily | 'any', code: string): ResolveError {
  const wanted = family === 'any' ? 'address' : `IPv${family} address`;
  return new ResolveError('not-found', code, `getaddrinfo ${code} ${hostname}: no ${wanted} of that name`);
}
