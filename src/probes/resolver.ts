import { lookup } from 'node:dns';
import { type IpFamily, literalAddress, type ResolvedAddress, type WantedFamily } from './address.ts';
import type { StampClock } from './sys/kernel-clock.ts';

/** How long others took to answer a lookup. */
export interface LookupTimes {
  /** Name servers and the network between, in milliseconds; 0 when nobody had to be asked. */
  readonly elapsedMs: number;
  /** How much later than it came an answer was noticed, at most. */
  readonly lagMs: number;
  readonly clock: StampClock;
}

export interface LookupControls {
  /** Aborting ends the lookup and its queries; it then rejects. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Called before the lookup ends, however it ends, by resolvers that know more than how long it took in all.
   */
  readonly onMeasured?: ((times: LookupTimes) => void) | undefined;
}

/** Where addresses of host names come from. */
export interface Resolver {
  /**
   * The addresses of a host name in the order they should be tried, at least one. A literal address is
   * answered as it is, whatever family was asked for: the one who wrote it has already chosen.
   *
   * @param hostname a name, or an IPv4 or IPv6 address without brackets.
   * @param family the only family wanted, or 'any'.
   * @throws ResolveError when there is no such address, or the resolver gave no answer.
   */
  resolve(
    hostname: string,
    family: IpFamily | 'any',
    controls?: LookupControls,
  ): Promise<readonly ResolvedAddress[]>;
}

/**
 * Why a name has no address: `not-found` is the name's fault, `unavailable` the resolver's; `refused`: the egress policy
 * keeps it from being looked up.
 */
export class ResolveError extends Error {
  readonly kind: 'not-found' | 'unavailable' | 'refused';
  readonly code: string;
  /** What a name server answered that gave no address. */
  readonly responseCode: string | undefined;
  /** The rule of the egress policy that keeps the name from being looked up. */
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

/** Nobody had to be asked. */
export const ownAnswer: LookupTimes = { elapsedMs: 0, lagMs: 0, clock: 'kernel' };

/**
 * The addresses of a name that are wanted. With `ipv4-first` those of IPv6 are asked for only when there are none of
 * IPv4; the time of both lookups counts.
 *
 * @throws ResolveError of the first lookup when neither finds any, of the second when that one has no answer.
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

/** Lookups one after the other. */
function inTurn(lookups: readonly LookupTimes[]): LookupTimes {
  return {
    elapsedMs: lookups.reduce((sum, { elapsedMs }) => sum + elapsedMs, 0),
    lagMs: lookups.reduce((most, { lagMs }) => Math.max(most, lagMs), 0),
    clock: lookups.some(({ clock }) => clock === 'event') ? 'event' : 'kernel',
  };
}

/** Answers of getaddrinfo that mean "the name has no such address"; all others blame the resolver. */
const notFoundCodes: ReadonlySet<string> = new Set(['ENOTFOUND', 'EAI_NONAME', 'EAI_NODATA', 'ENODATA']);

/**
 * The host's own resolver (getaddrinfo: resolv.conf, /etc/hosts, nsswitch). The agent uses it for the names
 * that host-resolver.ts cannot look up by itself. Each lookup holds a thread of libuv's pool until it is
 * answered, so the process has to set UV_THREADPOOL_SIZE well above the number of names that may hang at
 * once; the default of 4 lets a few dead names delay all others by many seconds.
 */
export const systemResolver: Resolver = {
  resolve(hostname, family, { onMeasured } = {}) {
    const literal = literalAddress(hostname);
    if (literal) {
      onMeasured?.(ownAnswer);
      return Promise.resolve([literal]);
    }
    // There is no way to stop getaddrinfo: an answer nobody waits for any more is dropped by the caller.
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
